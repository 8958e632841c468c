// Package toolnexus turns an mcp.json into tools that an agent can call. It starts the MCP servers that the file lists, asks what
// they offer, calls their tools, and ends them again.
//
//	source, err := toolnexus.Load(ctx, "mcp.json")
//	if err != nil {
//		return err
//	}
//	defer source.Close()
//	for _, tool := range source.Tools() {
//		fmt.Println(tool.Name)
//	}
//	result, err := source.Tool("files_read").Execute(ctx, map[string]any{"path": "a.txt"})
//
// The work is done by the native library libtoolnexus. Calls wait in goroutines, never in threads of their own; the end of a
// context cancels the call and tells the server.
package toolnexus
