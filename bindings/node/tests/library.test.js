// How the library is found, and what is said if it is not the right one.
import assert from 'node:assert/strict'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { run, script } from './common.js'

const given = process.env.TOOLNEXUS_LIBRARY
const SHOW = 'try { console.log(toolnexus.version()) } catch (error) { console.log(error.message) }'
const without = { ...process.env, TOOLNEXUS_LIBRARY: undefined, LD_LIBRARY_PATH: undefined }

let scratch
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'toolnexus-'))
})
after(() => rm(scratch, { recursive: true }))

const said = async (text, env) => {
  const { code, stdout, stderr } = await script(text, { env })
  assert.equal(code, 0, stderr)
  return stdout.trim()
}

test('the option comes first, and counts once', async () => {
  const text = `
    await toolnexus.parseConfig('{}', { library: ${JSON.stringify(given)} })
    console.log(await toolnexus.parseConfig('{}', { library: '/other' }).catch((error) => error.message))`
  const wanted = `The toolnexus library was already loaded from ${given}, and cannot be loaded from /other`
  assert.equal(await said(text, { ...without, TOOLNEXUS_LIBRARY: '/nowhere/x.so' }), wanted)
})

test('TOOLNEXUS_LIBRARY that does not load is not passed over', async () => {
  const message = await said(SHOW, { ...without, TOOLNEXUS_LIBRARY: '/nowhere/x.so' })
  assert.match(message, /not loaded from \/nowhere\/x\.so \(named by TOOLNEXUS_LIBRARY\): .*Build it with `make library`/)
})

test('the system, if nobody says where it is', async () => {
  const message = await said(SHOW, without)
  assert.match(message, /not loaded from libtoolnexus\.so\.0 .*TOOLNEXUS_LIBRARY is not set and there is no .*\/lib\/libtoolnexus/)
  const lib = join(scratch, 'system')
  await mkdir(lib)
  await copyFile(given, join(lib, 'libtoolnexus.so.0'))
  assert.match(await said(SHOW, { ...without, LD_LIBRARY_PATH: lib }), /^\d+\.\d+\.\d+$/)
})

test('another library, and another version, are named', { skip: !(await compiler()) && 'there is no C compiler' }, async () => {
  const build = async (name, text) => {
    await writeFile(join(scratch, `${name}.c`), text)
    const { code, stderr } = await run('cc', ['-shared', '-fPIC', '-o', join(scratch, `${name}.so`), join(scratch, `${name}.c`)])
    assert.equal(code, 0, stderr)
    return join(scratch, `${name}.so`)
  }
  for (const [version, shown] of [[0x10000, '1.0'], [0, '0.0']]) {
    const path = await build(`v${version}`, `unsigned tn_abi_version(void) { return ${version}; }`)
    const message = await said(SHOW, { ...without, TOOLNEXUS_LIBRARY: path })
    assert.equal(message, `The toolnexus library at ${path} has ABI ${shown}, but this package wants 0.1 or a later 0.x.`)
  }
  const path = await build('other', 'int other(void) { return 1; }')
  assert.match(await said(SHOW, { ...without, TOOLNEXUS_LIBRARY: path }), /other\.so is no toolnexus library/)
})

test('the package is written for the ABI of the header', async () => {
  const { readFile } = await import('node:fs/promises')
  const header = await readFile(new URL('../../../include/toolnexus.h', import.meta.url), 'utf8')
  const source = await readFile(new URL('../src/library.js', import.meta.url), 'utf8')
  assert.equal(/^const ABI = (\d+)$/m.exec(source)[1], /^#define TN_ABI_VERSION (\d+)$/m.exec(header)[1])
})

async function compiler() {
  try {
    return (await run('cc', ['--version'])).code === 0
  } catch {
    return false
  }
}
