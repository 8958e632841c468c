// When the process stays, how it ends, workers, and what is left.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { script, tiny } from './common.js'

/** Runs a program that has the config of the tiny server as `config`; afterwards no server of it may be left. */
async function program(text, options) {
  const mark = randomUUID()
  const config = { mcpServers: { progress: { command: [tiny, mark] } } }
  const ended = await script(`const config = ${JSON.stringify(config)}\n${text}`, options)
  const until = Date.now() + 60_000
  while (alive(mark)) {
    assert.ok(Date.now() < until, 'a server is left')
    await sleep(10)
  }
  return ended
}

const alive = (mark) =>
  readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(`${tiny}\0${mark}`)
    } catch {
      return false // it has just ended
    }
  })

async function prints(text, stdout, options) {
  const ended = await program(text, options)
  assert.deepEqual({ ...ended, stderr: undefined }, { code: 0, signal: null, stdout, stderr: undefined }, ended.stderr)
  return ended
}

test('a pending call keeps the process', () =>
  prints(`
    const source = await toolnexus.loadMcp(config)
    source.tools[1].execute({ durationMs: 300, intervalMs: 0 }).then(({ output }) => console.log(output))
  `, 'slept 300 ms\n'))

test('an open source does not', () =>
  prints(`
    const source = await toolnexus.loadMcp(config)
    source.on('notice', console.log)
    toolnexus.logTo(console.log, 'error')
    console.log(source.tools.length)
  `, '3\n'))

test('a time-out of a tool of the program does', () =>
  prints(`
    const never = toolnexus.defineTool({ name: 'never', execute: () => new Promise(() => {}) })
    never.execute({}, { timeout: 50 }).then(({ status }) => console.log(status))
  `, 'TN_E_TIMEOUT\n'))

test('waiting for notices keeps it, until the source is closed', () =>
  prints(`
    const source = await toolnexus.loadMcp(config)
    setTimeout(() => source.close(), 100).unref()
    for await (const notice of source.notices()) console.log(notice)
    console.log('ended')
  `, 'ended\n'))

const FLIGHT = `
  const source = await toolnexus.loadMcp(config)
  for (let i = 0; i < 200; i++) {
    source.tools[1].execute({ durationMs: 60_000, intervalMs: 100 }, { onProgress() {} }).catch(() => {})
    source.tools[0].execute({ text: 'a' }).catch(() => {})
  }
`
const WORKERS = `
  const { Worker } = await import('node:worker_threads')
  const { once } = await import('node:events')
  const body = "import * as toolnexus from 'toolnexus'; import { parentPort } from 'node:worker_threads'; " +
    'const config = ' + JSON.stringify(config) + ';' + ${JSON.stringify(FLIGHT)} + "parentPort.postMessage('in flight');"
  const url = (more) => new URL('data:text/javascript,' + encodeURIComponent(body.replaceAll("'toolnexus'", JSON.stringify(import.meta.resolve('toolnexus'))) + more))
  const start = async (more = '') => {
    const worker = new Worker(url(more))
    worker.exited = once(worker, 'exit')
    await once(worker, 'message')
    return worker
  }
`
const ENDS = {
  'process.exit with calls in flight': `${FLIGHT} console.log('out'); process.exit(0)`,
  'process.exit in a worker with calls in flight': `${WORKERS}
    const worker = await start('process.exit(0)')
    await worker.exited; console.log('out')`,
  'workers that are terminated with calls in flight': `${WORKERS}
    const workers = await Promise.all([start(), start(), start()])
    for (const worker of workers) await worker.terminate()
    ${FLIGHT} console.log((await source.tools[0].execute({ text: 'out' })).output); await source.close()`,
  'process.exit while workers have calls in flight': `${WORKERS} await Promise.all([start(), start()])
    ${FLIGHT} console.log('out'); process.exit(0)`
}
for (const [name, text] of Object.entries(ENDS)) {
  test(`ends cleanly, 6 of 6: ${name}`, async () => {
    for (let run = 0; run < 6; run++) await prints(text, 'out\n')
  })
}

test('a worker that ends closes its sources; the others go on', () =>
  prints(`${WORKERS}
    const { readdirSync, readFileSync } = await import('node:fs')
    const count = () => readdirSync('/proc').filter((pid) => {
      try { return readFileSync('/proc/' + pid + '/cmdline', 'latin1').includes(config.mcpServers.progress.command[1]) && readFileSync('/proc/' + pid + '/cmdline', 'latin1').startsWith(config.mcpServers.progress.command[0]) } catch { return false }
    }).length
    const source = await toolnexus.loadMcp(config)
    const worker = await start('process.exit(0)')
    await worker.exited
    while (count() > 1) await new Promise((resolve) => setTimeout(resolve, 10))
    console.log((await source.tools[0].execute({ text: 'on' })).output)
    await source.close()
  `, 'on\n'))

test('a shutdown by another thread ends calls, and the thread can start anew', () =>
  prints(`${WORKERS}
    const worker = await start(\`
      const ended = await source.tools[1].execute({ durationMs: 60_000 }).then(({ status }) => status, ({ status }) => status)
      parentPort.postMessage('ended')
      await new Promise((resolve) => parentPort.once('message', resolve))
      const again = await toolnexus.loadMcp(config)
      const { output } = await again.tools[0].execute({ text: 'anew' })
      await again.close()
      parentPort.postMessage([['TN_E_CLOSED', 'TN_E_CANCELLED'].includes(ended), output])
    \`)
    const ended = once(worker, 'message')
    await toolnexus.shutdown()
    await ended
    worker.postMessage('go on')
    console.log((await once(worker, 'message'))[0])
  `, "[ true, 'anew' ]\n"))

test('a shutdown by another thread while a thread is idle', () =>
  prints(`${WORKERS}
    const worker = await start(\`
      for (;;) {
        await new Promise((resolve) => parentPort.once('message', resolve))
        const { output } = await toolnexus.createToolkit().then((kit) => kit.execute('nope'))
        parentPort.postMessage(output)
      }
    \`)
    for (let i = 0; i < 3; i++) {
      await toolnexus.shutdown()
      worker.postMessage('go on')
      console.log((await once(worker, 'message'))[0])
    }
    await worker.terminate()
  `, 'Unknown tool: nope\n'.repeat(3)))

test('forgotten sources are closed by the garbage collector', () =>
  prints(`
    import { runtime } from '${new URL('../src/runtime.js', import.meta.url)}'
    for (let i = 0; i < 10; i++) (await toolnexus.loadMcp(config)).tools
    while (runtime().held > 7) { // a forgotten source is 5: itself, its queue, its tools; the thread has one queue
      gc()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    console.log('few')
  `, 'few\n', { nodeArgs: ['--expose-gc'] }))

test('100,000 calls leave nothing', { timeout: 610_000 }, async () => {
  const { stderr } = await prints(`
    import { readdirSync } from 'node:fs'
    import { runtime } from '${new URL('../src/runtime.js', import.meta.url)}'
    const controller = new AbortController()
    const source = await toolnexus.loadMcp(config)
    const [echo] = source.tools
    const some = async (count) => {
      let left = count
      const one = async () => {
        while (left-- > 0) await echo.execute({ text: 'a' }, left % 2 ? {} : { signal: controller.signal, timeout: 60_000 })
      }
      await Promise.all(Array.from({ length: 64 }, one))
      gc()
      return { held: runtime().held, fds: readdirSync('/proc/self/fd').length, threads: readdirSync('/proc/self/task').length }
    }
    const before = await some(1000)
    const rss = process.memoryUsage.rss()
    const after = await some(100_000)
    const more = Math.round((process.memoryUsage.rss() - rss) / 2 ** 20)
    console.error(before, after, more, 'MiB more')
    // V8 takes some tens for itself; 2 KiB lost by each call would be 200.
    console.log(JSON.stringify(before) === JSON.stringify(after) && more < 150)
    await source.close()
    console.log((await toolnexus.shutdown()).live)
  `, 'true\n{}\n', { nodeArgs: ['--expose-gc'], timeout: 600_000 })
  console.log(stderr)
})
