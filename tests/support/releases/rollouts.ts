import { readFile } from "node:fs/promises";
import path from "node:path";
import { beforeEach } from "vitest";
import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { watchRollouts } from "@/lib/background";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";
import { publishVersion } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";

export const OLD = "core-windows-x64-1.0.0";
export const NEW = "core-windows-x64-2.0.0";
/** Selects NEW, and the other platforms' releases of its version. */
export const FILTER = { product: "core", version: "2.0.0" };

/** Gives each test of a file a data folder with OLD and NEW, and no schedule. Returns the key that published them. */
export function publishOldAndNew(): CreatedKey {
  isolateDataFolder();
  const key = {} as CreatedKey;
  beforeEach(async () => {
    await ctx().db.rolloutSchedule.deleteMany();
    Object.assign(key, await newKey());
    for (const version of ["1.0.0", "2.0.0"]) await publishVersion(key, version);
  });
  return key;
}

export const manifestFile = () => path.join(ctx().config.DATA_DIR, "releases", "catalog.json");

/** The percentage in the catalog's file. */
export async function inCatalog(id = NEW): Promise<number> {
  const { releases } = JSON.parse(await readFile(manifestFile(), "utf8")) as {
    releases: { id: string; rollout?: number }[];
  };
  return releases.find((one) => one.id === id)?.rollout ?? 100;
}

/** How many of 100 clients on Windows with 1.0.0 are offered 2.0.0. */
export async function offered(): Promise<number> {
  const query = (i: number) => `${WINDOWS}&current=1.0.0&clientId=client${i}`;
  const found = await Promise.all(Array.from({ length: 100 }, (_, i) => getVersion(query(i))));
  return found.filter(({ version }) => version === "2.0.0").length;
}

/** Lets hours pass while the service looks at the rollouts every nine minutes. */
export async function pass(hours: number) {
  for (let minutes = 0; minutes < hours * 60; minutes += 9) {
    clock.advance(9 * 60 * 1000);
    await watchRollouts(ctx());
  }
}
