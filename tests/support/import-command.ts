import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { onTestFinished, vi } from "vitest";
import { responders } from "@/app/routes.generated";
import { createHttpServer } from "@/lib/platform/http/server/http-server";
import { createRouteTable } from "@/lib/platform/http/server/routes";
import type { Scope } from "@/lib/principal";
import { HomeportCommand } from "@/scripts/homeport/command";
import { COMMAND_GROUPS } from "@/scripts/homeport/command-groups";
import { newKey } from "./auth/api-keys";
import { newFolder } from "./guide";

export type RefusedRecord = { line: number; code: string; field?: string; detail?: string; record: unknown };

/** A file with a text, in a folder that is removed after the test. */
export async function newFile(name: string, content: string | Buffer): Promise<string> {
  const file = path.join(await newFolder(), name);
  await writeFile(file, content);
  return file;
}

/** Of the running test. */
let openUrl: string | null = null;

/** The routes at a port, the same for a test. */
async function openService(): Promise<string> {
  if (openUrl !== null) return openUrl;
  const server = createHttpServer(createRouteTable(responders, new Map()), async () => async (_, outgoing) => {
    outgoing.writeHead(599).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    openUrl = null;
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  openUrl = `http://127.0.0.1:${port}`;
  return openUrl;
}

/**
 * Runs a command of `homeport` in this process, against the routes at a port, with a key that has some scopes. Returns what it
 * prints as JSON, and its notes.
 */
export async function runHomeport<Result>(scopes: Scope[], group: string, ...args: string[]) {
  vi.stubEnv("HOMEPORT_URL", await openService());
  vi.stubEnv("HOMEPORT_API_KEY", (await newKey({ scopes })).key);
  onTestFinished(() => void vi.unstubAllEnvs());
  const printed = vi.spyOn(console, "log").mockImplementation(() => {});
  const noted = vi.spyOn(console, "error").mockImplementation(() => {});
  try {
    const program = new HomeportCommand("homeport").enablePositionalOptions();
    (await COMMAND_GROUPS[group]?.load())?.(program.command(group));
    await program.parseAsync([group, ...args, "--json"], { from: "user" });
    const result = JSON.parse(String(printed.mock.calls[0]?.[0])) as Result;
    return { result, notes: noted.mock.calls.map(([text]) => String(text)) };
  } finally {
    process.exitCode = undefined;
    printed.mockRestore();
    noted.mockRestore();
  }
}

/** Imports a file of accounts. Returns the counts that are not 0, and the file of refused records. */
export async function importFile(file: string, ...args: string[]) {
  const run = await runHomeport<Record<string, number>>(["accounts:write"], "accounts", "import", file, ...args);
  const refused = await readFile(`${file}.refused.ndjson`, "utf8").catch(() => "");
  return {
    counts: Object.fromEntries(Object.entries(run.result).filter(([, count]) => count > 0)),
    refused: refused.split("\n").flatMap((line) => (line ? [JSON.parse(line) as RefusedRecord] : [])),
    notes: run.notes,
  };
}
