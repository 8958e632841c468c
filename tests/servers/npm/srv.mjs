// A server on the 2.x TypeScript SDK, which speaks both eras: `node srv.mjs --stdio | --http PORT [--modern-only]`.
// With port 0 it chooses one. It prints its URL on stderr.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

// tools/install-test-servers puts the packages there, not beside this file.
const require = createRequire(new URL('../../../.deps/npm/', import.meta.url));
const { McpServer, ResourceTemplate, createMcpHandler, fromJsonSchema, inputRequired, inputResponse } = require(
    '@modelcontextprotocol/server'
);
const { serveStdio } = require('@modelcontextprotocol/server/stdio');

const { values: options } = parseArgs({
    options: { stdio: { type: 'boolean' }, http: { type: 'string' }, 'modern-only': { type: 'boolean' } },
});
const modernOnly = options['modern-only'];

const URI = 'fixture://hello';
const object = (properties) => fromJsonSchema({ type: 'object', properties, required: Object.keys(properties) });
const text = (text) => ({ content: [{ type: 'text', text }] });

// A server is made for each request, or for each connection: what they share is here.
let grown = false;

function build() {
    const server = new McpServer(
        { name: 'srv', version: '1.0.0' },
        { capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {} } }
    );
    const add = {
        description: 'Add two numbers.',
        inputSchema: object({ a: { type: 'number' }, b: { type: 'number' } }),
        outputSchema: object({ result: { type: 'number' } }),
    };
    server.registerTool('add', add, ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { result: a + b } }));

    const slow = {
        description: 'Take durationMs and report progress every intervalMs.',
        inputSchema: object({ durationMs: { type: 'integer' }, intervalMs: { type: 'integer' } }),
    };
    server.registerTool('slow', slow, async ({ durationMs, intervalMs }, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken;
        for (let progress = intervalMs; progress <= durationMs; progress += intervalMs) {
            await sleep(intervalMs, undefined, { signal: mcpReq.signal });
            if (progressToken !== undefined) {
                const params = { progressToken, progress, total: durationMs };
                await mcpReq.notify({ method: 'notifications/progress', params });
            }
        }
        return text(`slept ${durationMs} ms`);
    });

    server.registerTool('confirm', { description: 'Ask for a name, then greet it.' }, ({ mcpReq }) => {
        const answer = inputResponse(mcpReq.inputResponses, 'name');
        if (answer.kind === 'missing') {
            const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
            const name = inputRequired.elicit({ message: 'What is your name?', requestedSchema });
            return inputRequired({ inputRequests: { name } });
        }
        return text(answer.action === 'accept' ? `hello ${answer.content.name}` : `no name: ${answer.action}`);
    });

    server.registerTool('grow', { description: 'Add a tool, and tell so.' }, () => {
        grown = true;
        changed.tools(server);
        return text('one more');
    });
    if (grown) {
        server.registerTool('grown', { description: 'The tool that grow adds.' }, () => text('grown'));
    }

    server.registerTool('touch', { description: 'Tell that the resource changed.' }, () => {
        changed.resource(server);
        return text('touched');
    });

    const hello = { description: 'A fixed text resource.', mimeType: 'text/plain' };
    server.registerResource('hello', URI, hello, () => ({ contents: [{ uri: URI, text: 'hello resource' }] }));
    const greet = new ResourceTemplate('fixture://greet/{name}', { list: undefined });
    const greeting = { description: 'A greeting.', mimeType: 'text/plain' };
    server.registerResource('greet', greet, greeting, (uri, { name }) => ({
        contents: [{ uri: uri.href, text: `hello ${name}` }],
    }));

    const review = { description: 'Ask for a review.', argsSchema: object({ code: { type: 'string' } }) };
    server.registerPrompt('review', review, ({ code }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Please review this code: ${code}` } }],
    }));
    return server;
}

// Over HTTP the handler knows who listens; on a pipe the connection's own server does.
let changed = {
    tools: (server) => server.sendToolListChanged(),
    resource: (server) => server.server.sendResourceUpdated({ uri: URI }),
};

// The SDK speaks fetch's Request and Response; this carries them over node:http.
async function answer(handler, incoming, outgoing) {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const hasBody = incoming.method === 'POST';
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method: incoming.method,
        headers: incoming.headers,
        body: hasBody ? Readable.toWeb(incoming) : undefined,
        duplex: 'half',
        signal: gone.signal,
    });
    const response = await handler.fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    await pipeline(response.body ? Readable.fromWeb(response.body) : Readable.from([]), outgoing);
}

if (options.stdio) {
    serveStdio(build, { legacy: modernOnly ? 'reject' : 'serve' });
} else if (options.http !== undefined) {
    const handler = createMcpHandler(build, { legacy: modernOnly ? 'reject' : 'stateless' });
    changed = {
        tools: () => handler.notify.toolsChanged(),
        resource: () => handler.notify.resourceUpdated(URI),
    };
    const listener = createServer((incoming, outgoing) => {
        // A client that goes away breaks the pipeline: that is its right.
        answer(handler, incoming, outgoing).catch(() => outgoing.destroy());
    });
    listener.listen(Number(options.http), '127.0.0.1', () => {
        console.error(`listening on http://127.0.0.1:${listener.address().port}/mcp`);
    });
} else {
    console.error('usage: node srv.mjs --stdio | --http PORT [--modern-only]');
    process.exit(2);
}
