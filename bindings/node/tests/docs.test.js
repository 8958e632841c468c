// What users read works: the types, the README's quick start as it is printed, the example.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as toolnexus from 'toolnexus'
import { remote, run, tiny } from './common.js'

const folder = fileURLToPath(new URL('..', import.meta.url))
const root = fileURLToPath(new URL('../../..', import.meta.url))

test('the types', async () => {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const { code, stdout } = await run(process.execPath, [tsc, '-p', folder])
  assert.equal(code, 0, stdout)
})

test('the types have what the package has', async () => {
  const types = await readFile(join(folder, 'src/index.d.ts'), 'utf8')
  const declared = [...types.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name)
  assert.deepEqual([...new Set(declared)].sort(), Object.keys(toolnexus).sort())
  for (const name of ['Tool', 'HostTool', 'McpSource', 'Toolkit']) {
    const body = new RegExp(`^export class ${name} [^]*?^}`, 'm').exec(types)[0]
    for (const member of Object.getOwnPropertyNames(toolnexus[name].prototype)) {
      if (['constructor', 'run', 'ended'].includes(member)) continue // run, ended: for the package itself
      assert.match(body, new RegExp(`^  (get )?${member}[(<]`, 'm'), `${name}.${member}`)
    }
  }
})

test('the quick start, as printed', async () => {
  const readme = await readFile(join(folder, 'README.md'), 'utf8')
  const block = (language) => new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'm').exec(readme)[1]
  const scratch = await mkdtemp(join(tmpdir(), 'toolnexus-'))
  try {
    // The places that the README names: a clone after `make library`, and an empty folder beside it.
    const [clone, app] = [join(scratch, 'toolnexus'), join(scratch, 'app')]
    for (const one of [join(clone, 'target/dist'), app]) await mkdir(one, { recursive: true })
    for (const one of ['bindings', 'examples']) await symlink(join(root, one), join(clone, one))
    await symlink(process.env.TOOLNEXUS_LIBRARY, join(clone, 'target/dist/libtoolnexus.so.0'))
    await writeFile(join(app, 'resources.mjs'), block('js'))
    const console = block('console').split('\n').filter(Boolean)
    const commands = console.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2))
    const printed = console.filter((line) => !line.startsWith('$ ')).join('\n')
    const { code, stdout, stderr } = await run('bash', ['-euc', commands.join('\n')], { cwd: app })
    assert.equal(code, 0, stderr)
    assert.equal(stdout.trim(), printed)
  } finally {
    await rm(scratch, { recursive: true })
  }
})

test('the example', async () => {
  const config = JSON.stringify({ mcpServers: { progress: { command: [tiny] } } })
  const { code, stdout, stderr } = await run(process.execPath, [join(root, 'examples/node/agent.mjs'), config])
  assert.equal(code, 0, stderr)
  assert.equal(stdout, await readFile(join(root, 'examples/node/agent.expected'), 'utf8'))
})

test('the example on a local and a remote server', async () => {
  const env = { ...process.env, TINY_SERVER: tiny, REMOTE_URL: remote }
  const { code, stdout, stderr } = await run(process.execPath, [join(root, 'examples/node/agent.mjs'), join(root, 'examples/remote.json')], { env })
  assert.equal(code, 0, stderr)
  assert.deepEqual(stdout.split('\n').slice(0, 3), [
    'progress: connected',
    'remote: connected',
    'progress_echo progress_slow progress_fail remote_echo remote_slow remote_fail add list_mcp_resources read_mcp_resource'
  ])
})
