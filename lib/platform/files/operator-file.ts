import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { isIPv6 } from "node:net";
import path from "node:path";
import { writeDurably } from "./durable";

/** Where commands on this machine find the running service, and the key by which they act as its operator. */
export type OperatorAccess = { url: string; key: string };

const fileIn = (dataDir: string) => path.join(dataDir, "operator.json");

/**
 * Writes `DATA_DIR/operator.json` for the commands, which nobody but the service's user can read. Returns a function that removes the file.
 */
export async function publishOperatorAccess(dataDir: string, listening: { host: string; port: number }, key: string) {
  const file = fileIn(dataDir);
  const access: OperatorAccess = { url: ownUrl(listening), key };
  await rm(file, { force: true }); // a new file gets the mode below
  await writeDurably(file, `${JSON.stringify(access)}\n`, { mode: 0o600 });
  return () => rm(file, { force: true });
}

/** The access of the service that runs in a data folder; null if there is no readable file. It may have been killed. */
export function readOperatorAccess(dataDir: string): OperatorAccess | null {
  try {
    const { url, key } = JSON.parse(readFileSync(fileIn(dataDir), "utf8")) as Partial<OperatorAccess>;
    return typeof url === "string" && typeof key === "string" ? { url, key } : null;
  } catch {
    return null;
  }
}

/** The URL by which this machine reaches the service: of the loopback interface unless it listens on one address alone. */
function ownUrl({ host: given, port }: { host: string; port: number }): string {
  const host = given === "0.0.0.0" ? "127.0.0.1" : given === "::" ? "::1" : given;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
