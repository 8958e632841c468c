// Package ffi is the C ABI, and the only place with cgo. Handles are numbers here: they are names, not addresses, and the
// garbage collector must not look at them. Nothing in it waits, but Shutdown.
package ffi

/*
#cgo LDFLAGS: -ldl
#include "library.h"

typedef struct { int32_t kind; tn_status status; uint64_t id; uintptr_t result; } event;
_Static_assert(sizeof(event) == sizeof(tn_event), "an event is as toolnexus.h has it");

typedef struct { const char *output, *json; size_t output_len, json_len; tn_status status; bool is_error; } view;

// One crossing in place of four.
static void view_of(uintptr_t r, bool document, view *v) {
	tn_result *result = (tn_result *)r;
	v->status = TN(tn_result_status)(result);
	v->is_error = TN(tn_result_is_error)(result);
	v->output = TN(tn_result_output)(result, &v->output_len);
	if (document) v->json = TN(tn_result_json)(result, &v->json_len);
}

static const char *path_of_library(void) {
	Dl_info info;
	return dladdr((void *)TN(tn_abi_version), &info) && info.dli_fname ? info.dli_fname : "";
}

static uint32_t abi_version(void) { return TN(tn_abi_version)(); }
static const char *library_version(void) { return TN(tn_version)(); }
static const char *status_name(tn_status status) { return TN(tn_status_name)(status); }

static uintptr_t queue_new(void) { return (uintptr_t)TN(tn_queue_new)(); }
static int queue_fd(uintptr_t q) { return TN(tn_queue_fd)((tn_queue *)q); }
static tn_status queue_close(uintptr_t q) { return TN(tn_queue_close)((tn_queue *)q); }
static tn_status queue_take(uintptr_t q, event *events, size_t capacity, size_t *count) {
	return TN(tn_queue_take)((tn_queue *)q, (tn_event *)events, capacity, 0, count);
}
static void give_back(uintptr_t object) { TN(tn_free)((void *)object); }
static uintptr_t take_mcp(uintptr_t r) { return (uintptr_t)TN(tn_result_take_mcp)((tn_result *)r); }
static uintptr_t take_toolkit(uintptr_t r) { return (uintptr_t)TN(tn_result_take_toolkit)((tn_result *)r); }
static uintptr_t take_tool(uintptr_t r) { return (uintptr_t)TN(tn_result_take_tool)((tn_result *)r); }

static uintptr_t context_new(uint32_t idle, uint32_t deadline, uintptr_t progress, uint64_t id) {
	tn_context *c = TN(tn_context_new)();
	if (idle) TN(tn_context_set_timeout)(c, idle);
	if (deadline) TN(tn_context_set_deadline)(c, deadline);
	if (progress) TN(tn_context_set_progress)(c, (tn_queue *)progress, id);
	return (uintptr_t)c;
}
static void context_cancel(uintptr_t c) { TN(tn_context_cancel)((tn_context *)c); }

static uintptr_t config_parse(const char *config, const char *options) { return (uintptr_t)TN(tn_config_parse)(config, options); }
static tn_status load(const char *config, const char *options, uintptr_t events, uintptr_t c, uintptr_t q, uint64_t id) {
	return TN(tn_mcp_load_submit)(config, options, (tn_queue *)events, (tn_context *)c, (tn_queue *)q, id);
}
static tn_status inventory(const char *config, const char *options, uintptr_t c, uintptr_t q, uint64_t id) {
	return TN(tn_mcp_inventory_submit)(config, options, (tn_context *)c, (tn_queue *)q, id);
}
static uintptr_t mcp_tools(uintptr_t mcp) { return (uintptr_t)TN(tn_mcp_tools)((tn_mcp *)mcp); }
static uintptr_t resource_tools(uintptr_t mcp) { return (uintptr_t)TN(tn_resource_tools)((tn_mcp *)mcp); }
static uintptr_t mcp_status(uintptr_t mcp) { return (uintptr_t)TN(tn_mcp_status)((tn_mcp *)mcp); }
static tn_status request(uintptr_t mcp, const char *server, const char *method, const char *params, uintptr_t c, uintptr_t q,
		uint64_t id) {
	return TN(tn_mcp_request_submit)((tn_mcp *)mcp, server, method, params, (tn_context *)c, (tn_queue *)q, id);
}
static tn_status skill_read(uintptr_t mcp, const char *server, const char *skill, const char *uri, uintptr_t c, uintptr_t q,
		uint64_t id) {
	return TN(tn_mcp_skill_read_submit)((tn_mcp *)mcp, server, skill, uri, (tn_context *)c, (tn_queue *)q, id);
}
static tn_status restart(uintptr_t mcp, const char *server, uintptr_t c, uintptr_t q, uint64_t id) {
	return TN(tn_mcp_restart_submit)((tn_mcp *)mcp, server, (tn_context *)c, (tn_queue *)q, id);
}
static tn_status mcp_close(uintptr_t mcp, uintptr_t c, uintptr_t q, uint64_t id) {
	return TN(tn_mcp_close_submit)((tn_mcp *)mcp, (tn_context *)c, (tn_queue *)q, id);
}

static size_t tools_len(uintptr_t tools) { return TN(tn_tools_len)((tn_tools *)tools); }
static uintptr_t tools_get(uintptr_t tools, size_t i) { return (uintptr_t)TN(tn_tools_get)((tn_tools *)tools, i); }
static const char *tools_json(uintptr_t tools, size_t *len) { return TN(tn_tools_json)((tn_tools *)tools, len); }
static uintptr_t tools_schema(uintptr_t tools, const char *provider) {
	return (uintptr_t)TN(tn_tools_schema)((tn_tools *)tools, provider);
}
static const char *tool_json(uintptr_t tool, size_t *len) { return TN(tn_tool_json)((tn_tool *)tool, len); }
static uintptr_t tool_create(const char *spec, uintptr_t q) { return (uintptr_t)TN(tn_tool_create)(spec, (tn_queue *)q); }
static tn_status execute(uintptr_t tool, const char *arguments, uintptr_t c, uintptr_t q, uint64_t id) {
	return TN(tn_tool_execute_submit)((tn_tool *)tool, arguments, (tn_context *)c, (tn_queue *)q, id);
}

static tn_status toolkit_create(const char *options, uintptr_t events, uintptr_t c, uintptr_t q, uint64_t id) {
	return TN(tn_toolkit_create_submit)(options, (tn_queue *)events, (tn_context *)c, (tn_queue *)q, id);
}
static uintptr_t toolkit_register(uintptr_t kit, uintptr_t tool) {
	return (uintptr_t)TN(tn_toolkit_register)((tn_toolkit *)kit, (tn_tool *)tool);
}
static uintptr_t toolkit_tools(uintptr_t kit) { return (uintptr_t)TN(tn_toolkit_tools)((tn_toolkit *)kit); }
static uintptr_t toolkit_mcp(uintptr_t kit) { return (uintptr_t)TN(tn_toolkit_mcp)((tn_toolkit *)kit); }
static tn_status toolkit_execute(uintptr_t kit, const char *name, const char *arguments, uintptr_t c, uintptr_t q, uint64_t id) {
	return TN(tn_toolkit_execute_submit)((tn_toolkit *)kit, name, arguments, (tn_context *)c, (tn_queue *)q, id);
}
static tn_status toolkit_close(uintptr_t kit, uintptr_t c, uintptr_t q, uint64_t id) {
	return TN(tn_toolkit_close_submit)((tn_toolkit *)kit, (tn_context *)c, (tn_queue *)q, id);
}

static uintptr_t answer(uint64_t id, const char *text) { return (uintptr_t)TN(tn_answer)(id, text); }
static tn_status log_to_queue(int32_t level, uintptr_t q) { return TN(tn_log_to_queue)(level, (tn_queue *)q); }
static tn_status log_to_stderr(void) { return TN(tn_log_to_callback)(2, NULL, 0, NULL); }
static uintptr_t end_everything(uint32_t ms) { return (uintptr_t)TN(tn_shutdown)(ms); }

#cgo noescape queue_take
#cgo nocallback queue_take
#cgo noescape view_of
#cgo nocallback view_of
#cgo noescape execute
#cgo nocallback execute
#cgo noescape toolkit_execute
#cgo nocallback toolkit_execute
*/
import "C"

import "unsafe"

// Handle is a reference of the library; 0 is none.
type Handle uintptr

// The kinds of events.
const (
	Done    = C.TN_EVENT_DONE
	Request = C.TN_EVENT_REQUEST
	Notice  = C.TN_EVENT_NOTICE
	Cancel  = C.TN_EVENT_CANCEL
)

// Event is a tn_event.
type Event struct {
	Kind, Status int32
	ID           uint64
	Result       Handle
}

var _ [unsafe.Sizeof(Event{})]byte = [C.sizeof_event]byte{}

// View is what a result holds.
type View struct {
	Output, JSON string
	Status       int32
	IsError      bool
}

// Version of the ABI: the one that is loaded, the one of the header, and where the library lies.
func Version() (found, wanted uint32, path string) {
	return uint32(C.abi_version()), C.TN_ABI_VERSION, C.GoString(C.path_of_library())
}

// LibraryVersion is such as "0.1.0".
func LibraryVersion() string { return C.GoString(C.library_version()) }

// StatusName is such as "TN_E_TIMEOUT".
func StatusName(status int32) string { return C.GoString(C.status_name(C.tn_status(status))) }

// CString copies text and ends it with the NUL that C wants. The caller has seen to it that there is none inside.
func CString[T string | []byte](text T) *byte {
	copied := make([]byte, len(text)+1)
	copy(copied, text)
	return &copied[0]
}

func chars(text *byte) *C.char { return (*C.char)(unsafe.Pointer(text)) }

func text(from *C.char, length C.size_t) string {
	if from == nil {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(from)), int(length)))
}

// Free gives a reference back.
func Free(object Handle) { C.give_back(C.uintptr_t(object)) }

// Read copies what a result holds, and gives it back. Its document is made only if it is wanted.
func Read(result Handle, document bool) View {
	var v C.view
	C.view_of(C.uintptr_t(result), C.bool(document), &v)
	read := View{text(v.output, v.output_len), text(v.json, v.json_len), int32(v.status), bool(v.is_error)}
	Free(result)
	return read
}

func NewQueue() Handle                 { return Handle(C.queue_new()) }
func QueueFD(queue Handle) int         { return int(C.queue_fd(C.uintptr_t(queue))) }
func CloseQueue(queue Handle)          { C.queue_close(C.uintptr_t(queue)) }
func ContextCancel(context Handle)     { C.context_cancel(C.uintptr_t(context)) }
func TakeMCP(result Handle) Handle     { return Handle(C.take_mcp(C.uintptr_t(result))) }
func TakeToolkit(result Handle) Handle { return Handle(C.take_toolkit(C.uintptr_t(result))) }
func TakeTool(result Handle) Handle    { return Handle(C.take_tool(C.uintptr_t(result))) }

// Take takes events without waiting.
func Take(queue Handle, events []Event) (int, int32) {
	var count C.size_t
	status := C.queue_take(C.uintptr_t(queue), (*C.event)(unsafe.Pointer(&events[0])), C.size_t(len(events)), &count)
	return int(count), int32(status)
}

// NewContext makes a context; 0 leaves a time at its default, and no queue means no progress.
func NewContext(idleMs, deadlineMs uint32, progress Handle, id uint64) Handle {
	return Handle(C.context_new(C.uint32_t(idleMs), C.uint32_t(deadlineMs), C.uintptr_t(progress), C.uint64_t(id)))
}

func ParseConfig(config, options *byte) Handle {
	return Handle(C.config_parse(chars(config), chars(options)))
}

// Target says how a submitted call runs and where it completes.
type Target struct {
	Context, Queue Handle
	ID             uint64
}

func (t Target) split() (C.uintptr_t, C.uintptr_t, C.uint64_t) {
	return C.uintptr_t(t.Context), C.uintptr_t(t.Queue), C.uint64_t(t.ID)
}

func Load(config, options *byte, events Handle, t Target) int32 {
	c, q, id := t.split()
	return int32(C.load(chars(config), chars(options), C.uintptr_t(events), c, q, id))
}

func Inventory(config, options *byte, t Target) int32 {
	c, q, id := t.split()
	return int32(C.inventory(chars(config), chars(options), c, q, id))
}

func SendRequest(mcp Handle, server, method, params *byte, t Target) int32 {
	c, q, id := t.split()
	return int32(C.request(C.uintptr_t(mcp), chars(server), chars(method), chars(params), c, q, id))
}

func ReadSkill(mcp Handle, server, skill, uri *byte, t Target) int32 {
	c, q, id := t.split()
	return int32(C.skill_read(C.uintptr_t(mcp), chars(server), chars(skill), chars(uri), c, q, id))
}

func Restart(mcp Handle, server *byte, t Target) int32 {
	c, q, id := t.split()
	return int32(C.restart(C.uintptr_t(mcp), chars(server), c, q, id))
}

func CloseMCP(mcp Handle, t Target) int32 {
	c, q, id := t.split()
	return int32(C.mcp_close(C.uintptr_t(mcp), c, q, id))
}

func Execute(tool Handle, arguments *byte, t Target) int32 {
	c, q, id := t.split()
	return int32(C.execute(C.uintptr_t(tool), chars(arguments), c, q, id))
}

func CreateToolkit(options *byte, events Handle, t Target) int32 {
	c, q, id := t.split()
	return int32(C.toolkit_create(chars(options), C.uintptr_t(events), c, q, id))
}

func ExecuteToolkit(kit Handle, name, arguments *byte, t Target) int32 {
	c, q, id := t.split()
	return int32(C.toolkit_execute(C.uintptr_t(kit), chars(name), chars(arguments), c, q, id))
}

func CloseToolkit(kit Handle, t Target) int32 {
	c, q, id := t.split()
	return int32(C.toolkit_close(C.uintptr_t(kit), c, q, id))
}

func MCPTools(mcp Handle) Handle      { return Handle(C.mcp_tools(C.uintptr_t(mcp))) }
func ResourceTools(mcp Handle) Handle { return Handle(C.resource_tools(C.uintptr_t(mcp))) }
func Status(mcp Handle) Handle        { return Handle(C.mcp_status(C.uintptr_t(mcp))) }
func ToolkitTools(kit Handle) Handle  { return Handle(C.toolkit_tools(C.uintptr_t(kit))) }
func ToolkitMCP(kit Handle) Handle    { return Handle(C.toolkit_mcp(C.uintptr_t(kit))) }

// List is the documents of a list's tools as one array, and a reference to each tool. The list is given back.
func List(tools Handle) (string, []Handle) {
	defer Free(tools)
	var length C.size_t
	json := C.tools_json(C.uintptr_t(tools), &length)
	handles := make([]Handle, int(C.tools_len(C.uintptr_t(tools))))
	for i := range handles {
		handles[i] = Handle(C.tools_get(C.uintptr_t(tools), C.size_t(i)))
	}
	return text(json, length), handles
}

// Schema is the result of tn_tools_schema. The list is given back.
func Schema(tools Handle, provider *byte) Handle {
	defer Free(tools)
	return Handle(C.tools_schema(C.uintptr_t(tools), chars(provider)))
}

func ToolJSON(tool Handle) string {
	var length C.size_t
	return text(C.tool_json(C.uintptr_t(tool), &length), length)
}

func CreateTool(spec *byte, calls Handle) Handle {
	return Handle(C.tool_create(chars(spec), C.uintptr_t(calls)))
}

func Register(kit, tool Handle) Handle {
	return Handle(C.toolkit_register(C.uintptr_t(kit), C.uintptr_t(tool)))
}

func Answer(id uint64, text *byte) Handle { return Handle(C.answer(C.uint64_t(id), chars(text))) }

func LogToQueue(level int32, queue Handle) { C.log_to_queue(C.int32_t(level), C.uintptr_t(queue)) }

// LogToStderr is what the library does by itself: warnings and errors.
func LogToStderr() { C.log_to_stderr() }

// Shutdown blocks its thread for up to ms.
func Shutdown(ms uint32) Handle { return Handle(C.end_everything(C.uint32_t(ms))) }
