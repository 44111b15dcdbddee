import { get } from "node:http";
import { STORED, TABLES, UPDATE_CHECK_RESPONSE } from "../../capacity/costs";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { storedBytesPerRow } from "../../lib/database-usage";
import { isSmoke } from "../../lib/scale";
import type { Section } from "../../lib/table";
import { withSeededDatabase } from "../console/seeded";
import { UPDATE_CHECK } from "../releases/version";

const ACCOUNTS = isSmoke ? 100 : 10_000;

/** Bytes of an update check's response, and of a row of each large table as `npm run seed` fills it. */
export async function bytes(bench: Bench): Promise<Section> {
  const server = await homeport(bench, () => Promise.reject()).start();
  const response = await responseBytes(server.url + UPDATE_CHECK).finally(server.stop);
  await withSeededDatabase(bench, async () => {}, ACCOUNTS);
  const stored = await storedBytesPerRow(bench.database, TABLES);
  const rows = TABLES.map((table, i) => ({ candidate: STORED[table], bytes: stored[i] ?? null }));
  return { title: "bytes", rows: [{ candidate: UPDATE_CHECK_RESPONSE, bytes: response }, ...rows] };
}

function responseBytes(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      const { socket } = response;
      response.resume().on("end", () => resolve(socket.bytesRead));
    }).on("error", reject);
  });
}
