// A small host: it loads an mcp.json, puts a tool of its own beside those of the servers, answers what servers ask, and calls
// one tool, which Ctrl-C cancels.
//
//	go run . CONFIG [TOOL [ARGUMENTS]]
//
// CONFIG is a path or JSON text, ARGUMENTS a JSON object. It exits with 1 if the tool failed, and with 2 if it could not be called.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	toolnexus "toolnexus/bindings/go"
)

type greeting struct {
	Name string `json:"name" jsonschema:"who is greeted"`
}

func greet(_ context.Context, in greeting) (string, error) {
	if in.Name == "" {
		return "", errors.New("nobody is there") // the model reads it
	}
	return "Hello, " + in.Name + "!", nil
}

// ask puts a server's question to the person at the terminal.
func ask(_ context.Context, request *toolnexus.Request) (toolnexus.Answer, error) {
	fmt.Fprintf(os.Stderr, "%s asks: %s %s\nAnswer, as JSON (empty: no): ", request.Server, request.Prompt, request.Schema())
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return toolnexus.Cancel(), nil
	}
	if strings.TrimSpace(line) == "" {
		return toolnexus.Decline(), nil
	}
	return toolnexus.Accept(json.RawMessage(line)), nil
}

func run(ctx context.Context, config string, call []string) (int, error) {
	kit, err := toolnexus.NewToolkit(ctx, config, toolnexus.WithElicitation(ask))
	if err != nil {
		return 2, err
	}
	defer kit.Close()
	greeter, err := toolnexus.NewTool("greet", "Greets somebody.", toolnexus.Hints{}, greet)
	if err != nil {
		return 2, err
	}
	warnings, err := kit.Register(append(kit.Source().ResourceTools(), greeter)...)
	if err != nil {
		return 2, err
	}
	for _, warning := range warnings {
		fmt.Fprintln(os.Stderr, warning)
	}
	status, err := kit.Source().Status()
	if err != nil {
		return 2, err
	}
	for name, server := range status.Servers {
		if server.Status == "failed" {
			fmt.Fprintf(os.Stderr, "%s failed in phase %s: %s\n", name, server.Phase, server.Reason)
		}
	}
	if len(call) == 0 {
		for _, tool := range kit.Tools() {
			fmt.Println(tool.Name)
		}
		return 0, nil
	}
	var arguments any
	if len(call) > 1 {
		arguments = json.RawMessage(call[1])
	}
	result, err := kit.Execute(ctx, call[0], arguments, toolnexus.WithProgress(func(p toolnexus.Progress) {
		fmt.Fprintf(os.Stderr, "%v/%v %s\n", p.Progress, p.Total, p.Message)
	}))
	if err != nil {
		return 2, err
	}
	fmt.Println(result.Output)
	if result.IsError {
		return 1, nil
	}
	return 0, nil
}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 4 {
		fmt.Fprintln(os.Stderr, "usage: go run . CONFIG [TOOL [ARGUMENTS]]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1], os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
