import nodeCrypto, { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { openEmbedded } from "../../lib/platform/db/embedded/open";
import { packDatabase, templateFile } from "../../lib/platform/db/embedded/template";

// Writes the database that a service without DATABASE_URL copies at its first start. The same migrations make the same bytes:
// time stands still, and what would be random, such as the database's own identifier, is counted.
const builtAtMs = Number(process.env.SOURCE_DATE_EPOCH) * 1000;
Date.now = () => builtAtMs;
globalThis.Date = new Proxy(Date, {
  construct: (date, given) => Reflect.construct(date, given.length > 0 ? given : [builtAtMs]),
});
let calls = 0;
const fill = <T extends ArrayBufferView | null>(array: T): T => {
  const bytes = createHash("sha256").update(String(++calls)).digest();
  if (array) Buffer.from(array.buffer, array.byteOffset, array.byteLength).fill(bytes);
  return array;
};
Object.assign(nodeCrypto, { randomFillSync: fill });
Object.assign(crypto, { getRandomValues: fill });
const dataDir = await mkdtemp(path.join(tmpdir(), "homeport-template-"));
try {
  const { migrate, close } = await openEmbedded(dataDir, false, {});
  await migrate();
  await close();
  await writeFile(await templateFile(), await packDatabase(path.join(dataDir, "db")));
} finally {
  await rm(dataDir, { recursive: true, force: true });
}
