import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { onTestFinished, vi } from "vitest";
import { responders } from "@/app/routes.generated";
import { createHttpServer } from "@/lib/platform/http/server/http-server";
import { createRouteTable } from "@/lib/platform/http/server/routes";
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

/** The routes at a port, and a key that may import accounts. */
async function openService(): Promise<{ HOMEPORT_URL: string; HOMEPORT_API_KEY: string }> {
  const server = createHttpServer(createRouteTable(responders, new Map()), async () => async (_, outgoing) => {
    outgoing.writeHead(599).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { key } = await newKey({ scopes: ["accounts:write"] });
  return { HOMEPORT_URL: `http://127.0.0.1:${port}`, HOMEPORT_API_KEY: key };
}

/**
 * Runs `homeport accounts import` in this process, against the routes at a port. Returns the counts that are not 0, and the
 * file of refused records.
 */
export async function importFile(file: string, ...args: string[]) {
  for (const [name, value] of Object.entries(await openService())) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const printed = vi.spyOn(console, "log").mockImplementation(() => {});
  const noted = vi.spyOn(console, "error").mockImplementation(() => {});
  try {
    const program = new HomeportCommand("homeport").enablePositionalOptions();
    (await COMMAND_GROUPS.accounts?.load())?.(program.command("accounts"));
    await program.parseAsync(["accounts", "import", file, ...args, "--json"], { from: "user" });
    const counts = JSON.parse(String(printed.mock.calls[0]?.[0])) as Record<string, number>;
    const refused = await readFile(`${file}.refused.ndjson`, "utf8").catch(() => "");
    return {
      counts: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      refused: refused.split("\n").flatMap((line) => (line ? [JSON.parse(line) as RefusedRecord] : [])),
      notes: noted.mock.calls.map(([text]) => String(text)),
    };
  } finally {
    printed.mockRestore();
    noted.mockRestore();
  }
}
