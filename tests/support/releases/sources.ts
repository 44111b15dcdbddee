import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { readFeeds } from "@/scripts/homeport/release/import/feeds";
import { type ImportOptions, importReleases } from "@/scripts/homeport/release/import/import-releases";
import type { Source } from "@/scripts/homeport/release/import/source";
import { get } from "@/tests/support/api";
import { withContext } from "@/tests/support/context";
import { openForTest } from "@/tests/support/releases/catalogs";
import { startOrigin } from "@/tests/support/releases/origin";
import type { TestFolder } from "@/tests/support/releases/publishing";
import { storeOf } from "@/tests/support/releases/stores";

/** A second service that has a catalog. Returns its base URL, and the paths that it was asked for. */
export async function serveCatalog({ manifest }: TestFolder): Promise<{ url: string; paths: string[] }> {
  const catalog = await openForTest({ RELEASE_CATALOG: manifest });
  const paths: string[] = [];
  const origin = await startOrigin(async (request, response) => {
    const asked = request.url ?? "";
    paths.push(asked);
    const { status, headers, bytes } = await withContext({ catalog, config: { baseUrl: origin.url } }, async () => {
      const found = await get(asked);
      return { status: found.status, headers: found.headers, bytes: Buffer.from(await found.arrayBuffer()) };
    });
    response.writeHead(status, { "content-type": headers.get("content-type") ?? "" }).end(bytes);
  });
  return { url: origin.url, paths };
}

/** Imports into the service of the test, as `homeport release import` does. `folder`: where downloads are kept. */
export function newImport(key: { key: string }) {
  const folder = mkdtemp(path.join(tmpdir(), "homeport-import-"));
  onTestFinished(async () => rm(await folder, { recursive: true, force: true }));
  const store = storeOf(key);
  return async (source: string | Source, change: Partial<ImportOptions> = {}) => {
    const { releases, notes } = typeof source === "string" ? await readFeeds(new URL(source)) : source;
    const options: ImportOptions = {
      product: "core",
      publicKeys: {},
      confirmations: {},
      destination: { kind: "folder" },
      folder: path.join(await folder, "downloads"),
      isDryRun: false,
      shouldPublish: false,
      ...change,
    };
    const result = await importReleases(store, (drafts) => store.add(drafts), releases, options);
    return { ...result, sourceNotes: notes };
  };
}
