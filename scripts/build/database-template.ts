import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { openEmbedded } from "../../lib/platform/db/embedded/open";
import { packDatabase, templateFile } from "../../lib/platform/db/embedded/template";

// Writes the database that a service without DATABASE_URL copies at its first start.
const dataDir = await mkdtemp(path.join(tmpdir(), "homeport-template-"));
try {
  const { migrate, close } = await openEmbedded(dataDir, false, {});
  await migrate();
  await close();
  await writeFile(await templateFile(), await packDatabase(path.join(dataDir, "db")));
} finally {
  await rm(dataDir, { recursive: true, force: true });
}
