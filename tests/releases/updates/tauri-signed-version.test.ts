import { beforeEach, expect, test } from "vitest";
import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import { CORE, callReleases } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { newSigningKey } from "@/tests/support/releases/signing";
import { checkForTauriUpdate, type TauriApp } from "@/tests/support/releases/tauri-client";
import { uploadFile } from "@/tests/support/releases/uploads";

const [key, otherKey] = [newSigningKey(), newSigningKey()];

isolateDataFolder();
let token: CreatedKey;
beforeEach(async () => {
  await ctx().db.rolloutSchedule.deleteMany();
  token = await newKey();
});

type Change = { release?: object; by?: typeof key; comment?: string; confirmations?: object };

async function publish(
  version: string,
  { release, by = key, comment = `\tversion:${version}`, confirmations }: Change = {},
) {
  const bytes = Buffer.from(`setup of ${version}`);
  const { id } = await uploadFile(token, bytes, `Ops_${version}_x64-setup.exe`);
  const minisign = by.minisign(bytes, `timestamp:1793786400\tfile:Ops_${version}_x64-setup.exe${comment}`);
  const files = [{ uploadId: id, kinds: ["update"], artifact: { minisign } }];
  const draft = {
    release: { ...CORE, version, ...release },
    files,
    publicKeys: { minisign: by.minisignKey },
    confirmations,
  };
  return callReleases("POST", "", token.key, { releases: [draft] });
}

const change = (version: string, fields: object) =>
  callReleases("PATCH", "", token.key, { filter: { product: "core", version }, change: fields });
const app = (version: string, fields: Partial<TauriApp> = {}): TauriApp => ({
  minisignKey: key.minisignKey,
  version,
  ...fields,
});

test("Tauri with requireSignedVersion follows a rollout, a pause, a yank and a rollback", async () => {
  expect(await publish("1.0.0")).toMatchObject({ status: 201, notes: [] });
  await publish("2.0.0", { release: { rollout: 10 } });
  const offers = async () => {
    const checks = Array.from({ length: 100 }, (_, i) => checkForTauriUpdate(app("1.0.0", { clientId: `client${i}` })));
    return (await Promise.all(checks)).filter((one) => one === "2.0.0").length;
  };
  const tenPercent = await offers();
  expect([tenPercent > 0, tenPercent < 30]).toEqual([true, true]);
  await change("2.0.0", { rollout: 0 });
  expect(await offers()).toBe(0);
  await change("2.0.0", { rollout: 100 });
  expect(await checkForTauriUpdate(app("1.0.0"))).toBe("2.0.0");
  expect(await checkForTauriUpdate(app("1.0.0", { minisignKey: otherKey.minisignKey }))).toBe("signature refused");
  await change("2.0.0", { yanked: true });
  expect(await checkForTauriUpdate(app("1.0.0"))).toBe("up to date");
  expect(await change("1.0.0", { rollback: true })).toMatchObject({ notes: [] });
  expect(await checkForTauriUpdate(app("2.0.0"))).toBe("1.0.0");
});

test("Tauri's clients go over a release with the new key during a rotation", async () => {
  await publish("1.0.0");
  await publish("2.0.0"); // has the new key, and is signed with the old one
  await publish("3.0.0", { by: otherKey, release: { requiresFrom: "2.0.0" }, confirmations: { isNew: true } });
  expect(await checkForTauriUpdate(app("1.0.0"))).toBe("2.0.0");
  expect(await checkForTauriUpdate(app("2.0.0", { minisignKey: otherKey.minisignKey }))).toBe("3.0.0");
});

test("a signature without the version is published and rolled back to with a note of who refuses it", async () => {
  const note = expect.stringMatching(
    /apps of core for windows x64 with Tauri's requireSignedVersion will refuse 1\.0\.0/,
  );
  expect(await publish("1.0.0", { comment: "" })).toMatchObject({ status: 201, notes: [note] });
  expect(await checkForTauriUpdate(app("0.9.0"))).toBe("MissingSignedVersion");
  expect(await checkForTauriUpdate(app("0.9.0", { requiresSignedVersion: false }))).toBe("1.0.0");
  await publish("2.0.0");
  const back = { kind: "rollback", filter: { product: "core", version: "1.0.0" } };
  expect(await callReleases("POST", "/previews", token.key, back)).toMatchObject({ notes: [note] });
  const { kind: _, ...rollback } = back;
  expect(await callReleases("POST", "/rollbacks", token.key, rollback)).toMatchObject({ notes: [note] });
  expect(await checkForTauriUpdate(app("2.0.0"))).toBe("MissingSignedVersion");
});

test("a signature of another version is never published", async () => {
  expect(await publish("1.0.0", { comment: "\tversion:2.0.0" })).toMatchObject({ code: "signature_invalid" });
});
