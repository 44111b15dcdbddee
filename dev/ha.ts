import { spawn } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { missingCommands } from "./ha/cluster";
import { isPassed, runDrill, tableOf } from "./ha/drill";
import { LOGS } from "./ha/machines";

const KEPT_LOGS = "/tmp/homeport-ha-logs";
/** The namespaces' first process is a shell: it reaps what programs leave behind. Their end ends everything in them. */
const NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
const INSIDE = "--inside";

/** Runs the drill in namespaces of its own: its IP addresses, folders and processes are not those of this machine. */
async function main(): Promise<void> {
  if (process.argv.includes(INSIDE)) return await drill();
  const missing = missingCommands();
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || missing.length > 0) {
    const install = "apt-get install patroni etcd-server python3-etcd haproxy pgbouncer postgresql iproute2";
    fail(isRoot ? `missing: ${missing.join(", ")}. Run ${install}.` : "needs root, for network namespaces.");
  }
  const self = [process.execPath, ...process.execArgv, process.argv[1] ?? "", INSIDE];
  const child = spawn("unshare", [...NAMESPACES, "sh", "-c", '"$@"; exit $?', "sh", ...self], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill("SIGKILL"));
  child.on("exit", (code) => process.exit(code ?? 1));
}

async function drill(): Promise<void> {
  const startedAtMs = Date.now();
  const report = (line: string) =>
    console.log(`${String(Math.round((Date.now() - startedAtMs) / 1000)).padStart(4)} s  ${line}`);
  try {
    const outcomes = await runDrill(report);
    console.log(`\n${tableOf(outcomes)}`);
    for (const { name, failedReads } of outcomes)
      for (const line of failedReads.slice(0, 5)) console.log(`${name}: ${line}`);
    if (outcomes.every(isPassed)) process.exit(0);
    keepLogs();
    fail("a fault has lost writes or reads, or has stopped writes for too long.");
  } catch (error) {
    keepLogs();
    fail((error as Error).message);
  }
}

function keepLogs(): void {
  rmSync(KEPT_LOGS, { recursive: true, force: true });
  cpSync(LOGS, KEPT_LOGS, { recursive: true });
  console.error(`The logs are in ${KEPT_LOGS}.`);
}

function fail(reason: string): never {
  console.error(`test:ha ${reason}`);
  process.exit(1);
}

await main();
