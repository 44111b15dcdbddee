import { mkdtemp, readdir, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "@/lib/platform/config";
import { withSecrets } from "@/lib/platform/embedded-secrets";

test("what killed processes left of the generated secrets is deleted after a day", async () => {
  const DATA_DIR = await mkdtemp(path.join(tmpdir(), "homeport-secrets-"));
  const config = loadConfig({ DATA_DIR });
  const { secrets } = await withSecrets(config);
  const dayAgo = new Date(Date.now() - 25 * 3_600_000);
  for (const name of ["secrets.json.17.tmp", "secrets.json.tmp", "secrets.json"]) {
    if (name !== "secrets.json") await writeFile(path.join(DATA_DIR, name), "{}");
    await utimes(path.join(DATA_DIR, name), dayAgo, dayAgo);
  }
  await writeFile(path.join(DATA_DIR, "secrets.json.18.tmp"), "{}"); // of one that is being created
  expect((await withSecrets(config)).secrets).toEqual(secrets);
  expect((await readdir(DATA_DIR)).sort()).toEqual(["secrets.json", "secrets.json.18.tmp"]);
});
