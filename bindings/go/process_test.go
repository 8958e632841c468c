package toolnexus_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	toolnexus "toolnexus/bindings/go"
)

// The tests here run this test program again, as a host of its own.
func TestMain(m *testing.M) {
	switch os.Getenv("TOOLNEXUS_TEST_HOST") {
	case "":
		os.Exit(m.Run())
	case "exit":
		exitWithCallsInFlight()
	case "version":
		_, err := toolnexus.Version()
		os.Stdout.WriteString(err.Error())
	}
}

func host(t *testing.T, what string, environment ...string) (string, error) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(append(os.Environ(), "TOOLNEXUS_TEST_HOST="+what), environment...)
	output, err := command.CombinedOutput()
	return string(output), err
}

// exitWithCallsInFlight returns from main while everything is under way.
func exitWithCallsInFlight() {
	config := `{"mcpServers":{"x":{"command":["` + os.Getenv("TOOLNEXUS_HOSTILE") + `","never-answers"]}}}`
	source, err := toolnexus.Load(context.Background(), config, toolnexus.WithNotices(func(toolnexus.Notice) {}))
	if err != nil {
		panic(err)
	}
	odd, received := source.Tool("x_odd"), source.Tool("x_received")
	for range 500 {
		go odd.Execute(context.Background(), nil)
	}
	for {
		got, err := received.Execute(context.Background(), nil)
		if err != nil {
			panic(err)
		}
		if strings.Contains(got.Output, "tools/call") {
			return
		}
	}
}

func TestExitsWithCallsInFlight(t *testing.T) {
	runs := 24
	if testing.Short() {
		runs = 2
	}
	for range runs {
		if said, err := host(t, "exit"); err != nil || said != "" {
			t.Fatalf("the host ended with %v and said %q", err, said)
		}
	}
}

// A library of another version is refused in one sentence, which names what was found, what is wanted, and where.
func TestVersionThatDoesNotFit(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	header, err := os.ReadFile("../../include/toolnexus.h")
	if err != nil {
		t.Fatal(err)
	}
	source := "#include <stdint.h>\n"
	for _, match := range regexp.MustCompile(`(?m)^(?:struct )?[a-z].*?[ *](tn_[a-z0-9_]+)\(`).FindAllSubmatch(header, -1) {
		if name := string(match[1]); name == "tn_abi_version" {
			source += "uint32_t tn_abi_version(void) { return 7 << 16 | 3; }\n"
		} else {
			source += "void " + name + "(void) {}\n"
		}
	}
	directory := t.TempDir()
	library := filepath.Join(directory, "libtoolnexus.so.0")
	command := exec.Command(compiler, "-shared", "-fPIC", "-Wl,-soname,libtoolnexus.so.0", "-x", "c", "-", "-o", library)
	command.Stdin = strings.NewReader(source)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	said, err := host(t, "version", "LD_LIBRARY_PATH="+directory, "TOOLNEXUS_LIBRARY="+library)
	if err != nil || !strings.Contains(said, "found version 7.3") || !strings.Contains(said, "0.1 or a later 0.x") || !strings.Contains(said, library) {
		t.Errorf("it said %q, %v", said, err)
	}
}

func TestVersion(t *testing.T) {
	if version, err := toolnexus.Version(); err != nil || !strings.Contains(version, ".") {
		t.Errorf("the version is %q, %v", version, err)
	}
}
