import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { isAppError } from "@/lib/errors";
import { createAdoption } from "@/lib/releases/adoption/adoption";
import { countClients, readAdoptionCurve } from "@/lib/releases/adoption/report";
import { listVersions, readVersion } from "@/lib/releases/publishing/list-versions";
import { previewChange } from "@/lib/releases/publishing/preview-change";
import { type ActionName, ReleaseAction, toProposedChange } from "@/lib/releases/publishing/release-action";
import { NOTES_FIELDS, stateOfFields } from "@/lib/releases/publishing/seen-state";
import { listUploads } from "@/lib/releases/uploads/uploads";
import { call } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { operatorWithRole } from "@/tests/support/console/operators";
import { ctx, withContext } from "@/tests/support/context";
import { publishVersion } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { createUpload, sendPart, uploadFile } from "@/tests/support/releases/uploads";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";
import { flashOf, submit } from "@/tests/support/web/forms";

const NEW = { product: "core", channel: "stable", version: "2.0.0" };

isolateDataFolder();

let cookie: string;
beforeEach(async () => {
  await ctx().db.rolloutSchedule.deleteMany();
  ({ cookie } = await operatorWithRole("admin"));
  const key = await newKey();
  for (const version of ["1.0.0", "2.0.0"]) await publishVersion(key, version);
});

const change = async (action: ActionName, fields: Record<string, string> = {}, of = NEW) => {
  const previewed = await previewedState({ action, ...of, ...fields });
  return submit("console/changeVersion", { action, ...of, previewed, ...fields }, { cookie });
};
/** What the preview of an action puts into its form; any text for an action that has none. */
const previewedState = async (fields: Record<string, string>) => {
  const preview = async () => previewChange(ctx(), {}, toProposedChange(ReleaseAction.parse(fields)));
  return (await preview().catch(() => ({ state: "none" }))).state;
};
const locationOf = (response: Response) => response.headers.get("location");
const version = (of = NEW) => readVersion(ctx(), of);
const served = async () => (await version()).releases.map((release) => release.served);

describe("the form that changes a release", () => {
  test("sets a percentage: the number if it was changed, else the slider, as without a script", async () => {
    const response = await change("rollout", { shown: "100", percentage: "100", slider: "30" });
    expect(locationOf(response)).toBe("/console/releases/core/stable/2.0.0?done=rollout");
    expect(await served()).toEqual([30]);
    await change("rollout", { shown: "30", percentage: "12.5", slider: "30" });
    expect(await served()).toEqual([12.5]);
  });

  test("schedules, halts, resumes and completes a rollout", async () => {
    await change("schedule", { steps: "5, 50", every: "2", unit: "days" });
    const { schedule } = await version();
    expect(schedule).toMatchObject({ state: "running", steps: [5, 50], everySeconds: 172_800 });
    const rolloutId = schedule?.id ?? "";
    await change("halt", { rolloutId, reason: "It crashes." });
    expect((await version()).schedule).toMatchObject({ state: "halted", haltReason: "It crashes." });
    expect(await served()).toEqual([0]);
    await change("resume", { rolloutId });
    expect(await served()).toEqual([5]);
    await change("complete", { rolloutId });
    expect(await served()).toEqual([50]);
  });

  test("yanks, restores, marks as critical, rolls back and promotes", async () => {
    const check = () => getVersion(`${WINDOWS}&current=1.0.0`);
    await change("yank");
    expect(await check()).toMatchObject({ version: "1.0.0" });
    await change("restore");
    await change("critical");
    expect(await check()).toMatchObject({ version: "2.0.0", mandatory: true });
    await change("not_critical");
    expect(await check()).toMatchObject({ mandatory: false });
    await change("promote", { to: "beta", percentage: "10" });
    expect((await version({ ...NEW, channel: "beta" })).releases).toMatchObject([{ rollout: 10 }]);
    await change("rollback", { withdrawal: "pause" }, { ...NEW, version: "1.0.0" });
    expect(await served()).toEqual([0]);
  });

  test("refuses what is wrong at its field, and says what is wrong with a schedule, a rollout and a version", async () => {
    const wrong: [ActionName, Record<string, string>, string][] = [
      ["rollout", { percentage: "101", shown: "100" }, "percentage"],
      ["rollout", { percentage: "10.55", shown: "100" }, "percentage"],
      ["schedule", { steps: "5,x", every: "1" }, "steps"],
      ["schedule", { steps: "5,100", every: "soon" }, "every"],
      ["schedule", { steps: "100", every: "1", startsAt: "tomorrow" }, "startsAt"],
    ];
    for (const [action, fields, field] of wrong) {
      expect(Object.keys(flashOf(await change(action, fields))?.fields ?? {})).toEqual([field]);
    }
    expect(await served()).toEqual([100]);
    const messageOf = (response: Response) => flashOf(response)?.message;
    expect(messageOf(await change("schedule", { steps: "50,5", every: "1" }))).toContain("ascending");
    expect(messageOf(await change("halt", { rolloutId: "x" }))).toContain("Rollout not found");
    expect(messageOf(await change("yank", {}, { ...NEW, version: "9.9.9" }))).toContain("There is no release");
  });

  test("halts a percentage without a schedule, with a reason", async () => {
    await change("rollout", { percentage: "10", shown: "100" });
    expect(locationOf(await change("halt", { reason: "It crashes." }))).toContain("done=halt");
    expect(await served()).toEqual([0]);
    const event = await ctx().db.auditEvent.findFirst({ where: { type: "release_changed" }, orderBy: { id: "desc" } });
    expect(event?.details).toEqual({ from: { rollout: 10 }, to: { rollout: 0 }, reason: "It crashes." });
  });

  test("changes nothing if somebody else has changed something since the preview, and leads to a new one", async () => {
    await change("rollout", { percentage: "30", shown: "100" });
    const returnTo = `/console/releases/change?action=rollout&percentage=100`;
    const stale = { previewed: await previewedState({ action: "yank", ...NEW }), percentage: "100", returnTo };
    await change("halt", { reason: "It crashes." });
    expect(locationOf(await change("rollout", stale))).toBe(`${returnTo}&done=stale`);
    expect(await served()).toEqual([0]);
    const unseen = await submit("console/changeVersion", { action: "rollout", ...NEW }, { cookie });
    expect(flashOf(unseen)?.fields).toHaveProperty("previewed");
  });
});

test("the form of release notes does not overwrite what somebody else has written since", async () => {
  const previewed = stateOfFields((await version()).releases, NOTES_FIELDS);
  const save = (notes: string, seen = previewed) =>
    submit("console/changeNotes", { ...NEW, notes, previewed: seen }, { cookie });
  expect(locationOf(await save("Starts faster."))).toContain("done=notes");
  expect(flashOf(await save("Starts quicker."))).toMatchObject({
    message: expect.stringContaining("Somebody else"),
    values: { notes: "Starts quicker." },
  });
  expect((await version()).releases.map(({ notes }) => notes)).toEqual(["Starts faster."]);
  await change("rollout", { percentage: "10", shown: "100" });
  await save("Starts quicker.", stateOfFields((await version()).releases, NOTES_FIELDS));
  expect((await version()).releases.map(({ notes }) => notes)).toEqual(["Starts quicker."]);
});

test("every action has a preview that changes nothing", () => {
  const action = { ...NEW, percentage: "10", steps: "5,100", every: "1", rolloutId: "x", to: "beta" };
  for (const name of ReleaseAction.shape.action.options) {
    expect(toProposedChange(ReleaseAction.parse({ ...action, action: name })).kind).toBeTruthy();
  }
});

describe("the form that publishes uploads", () => {
  async function upload(fileName: string, sizeBytes = 300, part = sizeBytes): Promise<string> {
    const headers = { "sec-fetch-site": "same-origin", "tus-resumable": "1.0.0" };
    const metadata = `filename ${btoa(fileName)},lastModified ${btoa("1700000000000")}`;
    const created = await call("POST", "/api/admin/uploads", {
      cookie,
      headers: { ...headers, "upload-length": String(sizeBytes), "upload-metadata": metadata },
    });
    const { id } = (await created.json()) as { id: string };
    const sent = { ...headers, "upload-offset": "0", "content-type": "application/offset+octet-stream" };
    await call("PATCH", `/api/admin/uploads/${id}`, { cookie, headers: sent, body: new Uint8Array(part).fill(7) });
    return id;
  }
  const fileFields = (id: string, platform: string, architecture: string, kinds: string) => ({
    [`use.${id}`]: "on",
    [`platform.${id}`]: platform,
    [`architecture.${id}`]: architecture,
    [`kinds.${id}`]: kinds,
  });
  const FIELDS = { product: "App", version: "3.0.0", channel: "stable", rollout: "10", notes: "Faster.", isNew: "on" };

  test("publishes the files of several platforms at once, as one version", async () => {
    const files = [
      fileFields(await upload("app.exe"), "windows", "x64", "both"),
      fileFields(await upload("app.msi"), "windows", "x64", "other"),
      fileFields(await upload("app.dmg"), "macos", "universal", "installer"),
    ];
    const response = await submit("console/publishReleases", Object.assign({}, FIELDS, ...files), { cookie });
    expect([flashOf(response)?.message, locationOf(response)]).toEqual([
      undefined,
      "/console/releases/app/stable/3.0.0?done=published",
    ]);
    const published = await readVersion(ctx(), { product: "app", channel: "stable", version: "3.0.0" });
    expect(published.releases.map(({ platform, rollout, notes }) => [platform, rollout, notes])).toEqual([
      ["macos", 10, "Faster."],
      ["windows", 10, "Faster."],
    ]);
    expect(published.releases[1]?.artifacts).toMatchObject({
      installer: {},
      update: {},
      others: [{ fileName: "app.msi" }],
    });
  });

  test("refuses a form without files, of another's upload, and of an incomplete one, and keeps the uploads", async () => {
    const none = await submit("console/publishReleases", FIELDS, { cookie });
    expect(flashOf(none)?.fields).toEqual({ files: "Choose at least one file" });
    const foreign = fileFields((await uploadFile(await newKey())).id, "windows", "x64", "both");
    expect(flashOf(await submit("console/publishReleases", { ...FIELDS, ...foreign }, { cookie }))).not.toBeNull();
    const half = await upload("app.exe", 300, 299);
    const refused = await submit(
      "console/publishReleases",
      { ...FIELDS, ...fileFields(half, "windows", "x64", "both") },
      { cookie },
    );
    expect(flashOf(refused)?.message).toContain("299 of 300 bytes");
    expect(
      (await call("GET", `/api/admin/uploads/${half}`, { cookie, headers: { "tus-resumable": "1.0.0" } })).status,
    ).toBe(200);
    await submit("console/deleteUpload", { uploadId: half }, { cookie });
    expect(
      (await call("GET", `/api/admin/uploads/${half}`, { cookie, headers: { "tus-resumable": "1.0.0" } })).status,
    ).toBe(404);
  });
});

test("an operator sees their own uploads alone, with what has arrived", async () => {
  const [key, other] = [await newKey(), await newKey()];
  const upload = await createUpload(key, 100, "a.exe");
  await sendPart(upload, 0, new Uint8Array(99));
  await uploadFile(other);
  expect(await listUploads(ctx(), `key:${key.id}`)).toMatchObject([
    { fileName: "a.exe", offsetBytes: 99, sizeBytes: 100 },
  ]);
});

describe("the versions of a product", () => {
  test("are listed by page, newest first, and by channel", async () => {
    const key = await newKey();
    await publishVersion(key, "2.1.0-beta.1", { channel: "beta" });
    const first = await listVersions(ctx(), { product: "core", limit: 2 });
    expect(first.versions.map((one) => one.version)).toEqual(["2.1.0-beta.1", "2.0.0"]);
    const second = await listVersions(ctx(), { product: "core", limit: 2, cursor: first.nextCursor ?? "" });
    expect(second.versions.map((one) => one.version)).toEqual(["1.0.0"]);
    expect((await listVersions(ctx(), { channel: "beta" })).versions).toHaveLength(1);
    expect((await listVersions(ctx(), { product: "nothing" })).versions).toEqual([]);
    const unknown = await version({ ...NEW, version: "9.9.9" }).catch((error: unknown) => error);
    expect(isAppError(unknown) && unknown.code).toBe("not_found");
  });

  test("are read from a catalog at a URL, too, where the form changes nothing", async () => {
    await withContext({ config: { RELEASE_CATALOG: "https://cdn.example.com/c.json" } }, async () => {
      expect((await listVersions(ctx(), {})).versions).toHaveLength(2);
      expect(flashOf(await change("yank"))?.message).toContain("at a URL");
    });
  });

  test("have a curve of their clients, who count once a day", async () => {
    const product = `app-${randomUUID().slice(0, 8)}`;
    const { db, config, log, now } = ctx();
    const adoption = createAdoption({ db, isOn: true, log, now, secrets: config.secrets });
    const check = (version: string, platform: string, clients: number) => {
      const installed = { product, platform, architecture: "x64", channel: "stable", version };
      for (let i = 0; i < clients; i++) adoption.recordUpdateCheck({ installed, offered: null }, `client ${i}`);
    };
    check("1.0.0", "windows", 40);
    check("1.0.0", "linux", 40); // the same ones
    check("2.0.0", "windows", 10);
    await adoption.flush();
    const { days, versions } = await readAdoptionCurve(ctx(), { product, days: 7, limit: 4 });
    expect(days).toHaveLength(7);
    expect(days.at(-1)).toBe(now().toISOString().slice(0, 10));
    expect(
      versions.map((one) => [one.version, one.clients.slice(0, 6), Math.round((one.clients[6] ?? 0) / 5) * 5]),
    ).toEqual([
      ["1.0.0", [0, 0, 0, 0, 0, 0], 40],
      ["2.0.0", [0, 0, 0, 0, 0, 0], 10],
    ]);
    const counts = await countClients(ctx(), { product, versions: ["1.0.0", "3.0.0"] });
    expect([(counts.get("1.0.0") ?? 0) > 35, counts.get("3.0.0")]).toEqual([true, 0]);
    expect((await readAdoptionCurve(ctx(), { product, channel: "beta", days: 7, limit: 4 })).versions).toEqual([]);
  });
});
