package toolnexus_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	toolnexus "toolnexus/bindings/go"
)

// A path works as well. ${TOOLNEXUS_TINY} is a variable of the environment.
const progress = `{"mcpServers": {"progress": {"command": "${TOOLNEXUS_TINY}"}}}`

func Example() {
	ctx := context.Background()
	source, err := toolnexus.Load(ctx, progress)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	for _, tool := range source.Tools() {
		fmt.Println(tool.Name)
	}
	result, err := source.Tool("progress_echo").Execute(ctx, map[string]any{"text": "hello"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Output, result.IsError)
	// Output:
	// progress_echo
	// progress_slow
	// progress_fail
	// hello false
}

func ExampleSource_ResourceTools() {
	ctx := context.Background()
	source, err := toolnexus.Load(ctx, progress)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	for i, args := range []map[string]any{nil, {"server": "progress", "uri": "fixture://hello"}} {
		result, err := source.ResourceTools()[i].Execute(ctx, args)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Output)
	}
	// Output:
	// progress fixture://hello — hello (text/plain): A fixed text resource.
	// hello resource
}

func ExampleSource_Status() {
	source, err := toolnexus.Load(context.Background(), `{"mcpServers": {"bad": {"command": "no such program"}}}`)
	if err != nil {
		log.Fatal(err) // only if the config as a whole cannot be read
	}
	defer source.Close()
	status, err := source.Status()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.Servers["bad"].Status)
	// Output: failed
}

func ExampleTool_Execute_cancelled() {
	source, err := toolnexus.Load(context.Background(), progress)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = source.Tool("progress_slow").Execute(ctx, map[string]any{"durationMs": 60_000})
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

func ExampleWithTimeout() {
	ctx := context.Background()
	source, err := toolnexus.Load(ctx, progress)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	slow := source.Tool("progress_slow")
	result, err := slow.Execute(ctx, map[string]any{"durationMs": 60_000, "intervalMs": 0}, toolnexus.WithTimeout(50*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.IsError, errors.Is(result.Err(), toolnexus.ErrTimeout))
	// Output: true true
}

func ExampleWithElicitation() {
	ask := func(ctx context.Context, request *toolnexus.Request) (toolnexus.Answer, error) {
		if request.Kind != "input" {
			return toolnexus.Decline(), nil
		}
		fmt.Println(request.Server, "asks:", request.Prompt)
		return toolnexus.Accept(map[string]any{"confirmed": true}), nil
	}
	config := `{"mcpServers": {"x": {"command": ["${TOOLNEXUS_HOSTILE}", "asks-elicitation"]}}}`
	source, err := toolnexus.Load(context.Background(), config, toolnexus.WithElicitation(ask), toolnexus.WithOption("lifecycle", "initialize"))
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	result, err := source.Tool("x_odd").Execute(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(result.Output, `"action":"accept"`))
	// Output:
	// x asks: Go on?
	// true
}

func ExampleNewTool() {
	type numbers struct {
		A int `json:"a" jsonschema:"the first number"`
		B int `json:"b" jsonschema:"the second number"`
	}
	add, err := toolnexus.NewTool("add", "Adds two numbers.", toolnexus.Hints{},
		func(_ context.Context, in numbers) (int, error) { return in.A + in.B, nil })
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	kit, err := toolnexus.NewToolkit(ctx, progress)
	if err != nil {
		log.Fatal(err)
	}
	defer kit.Close()
	if _, err := kit.Register(add); err != nil {
		log.Fatal(err)
	}
	result, err := kit.Execute(ctx, "add", []byte(`{"a": 1, "b": 2}`)) // as a model wrote it
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Output)
	// Output: 3
}
