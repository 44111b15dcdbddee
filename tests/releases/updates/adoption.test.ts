import { expect, test } from "vitest";
import type { UpdateCheck } from "@/lib/releases/adoption/day-counts";
import { get } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
import { manifestEntry, remoteArtifact, withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

type Counted = UpdateCheck & { clientId: string };

/** What is counted for a path, with a catalog of version 2.0.0 for Windows. */
async function countedFor(path: string, headers: Record<string, string> = {}): Promise<Counted[]> {
  const counted: Counted[] = [];
  const adoption = {
    ...ctx().adoption,
    recordUpdateCheck: (check: UpdateCheck, clientId: string) => void counted.push({ ...check, clientId }),
  };
  const others = [
    remoteArtifact({ fileName: "Acme-2.0.0.exe" }),
    remoteArtifact({ fileName: "Acme-2.0.0-full.nupkg", sha1: "ab".repeat(20) }),
  ];
  await withCatalog(({ publish }) =>
    withContext({ adoption }, async () => {
      await publish(manifestEntry({ version: "2.0.0", artifacts: { others } }));
      await get(`${STABLE}/${path}`, { headers, ip: "10.9.8.7" });
    }),
  );
  return counted;
}

const CHECK = { product: "core", platform: "windows", architecture: "x64", channel: "stable" };

test("a check is counted with what the updater says: its id, its version, its architecture", async () => {
  expect(await countedFor("latest.yml", { "x-user-staging-id": "ann" })).toEqual([
    { installed: { ...CHECK, architecture: "unknown", version: "unknown" }, offered: null, clientId: "ann" },
  ]);
  expect(await countedFor("RELEASES?localVersion=1.0.0&arch=amd64")).toMatchObject([
    {
      installed: { ...CHECK, version: "1.0.0" },
      offered: { ...CHECK, version: "2.0.0" },
      clientId: expect.stringContaining("10.9.8.7"),
    },
  ]);
  expect(await countedFor("releases.win.json?localVersion=2.0.0&stagingId=bob")).toEqual([
    { installed: { ...CHECK, version: "2.0.0" }, offered: null, clientId: "bob" },
  ]);
});

test("downloads and checks without a release are not counted as checks", async () => {
  expect(await countedFor("Acme-2.0.0.exe")).toEqual([]);
  expect(await countedFor("latest-linux.yml")).toEqual([]);
});
