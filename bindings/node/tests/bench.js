// Calls of the tool of benches/server.c, FLIGHT at once: nanoseconds a call, and how much of that this process computed. See bench.c.
import { loadMcp } from 'toolnexus'

const [server, count, flight] = process.argv.slice(2)
const source = await loadMcp({ mcpServers: { s: { command: [server, '1'] } } })
const [tool] = source.tools

async function calls(total) {
  let left = total
  const one = async () => {
    while (left-- > 0) {
      const { output } = await tool.execute({ size: 100 })
      if (output.length !== 100) throw new Error(output)
    }
  }
  const wall = process.hrtime.bigint()
  const computed = process.cpuUsage()
  await Promise.all(Array.from({ length: Number(flight) }, one))
  const { user, system } = process.cpuUsage(computed)
  return [Number(process.hrtime.bigint() - wall) / total, ((user + system) * 1000) / total]
}

await calls(count / 10)
console.log((await calls(Number(count))).map(Math.round).join(' '))
await source.close()
