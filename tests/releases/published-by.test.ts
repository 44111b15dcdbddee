import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { listInstallers } from "@/lib/releases/installers";
import { newKey } from "@/tests/support/auth/api-keys";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { newPublisherJob } from "@/tests/support/auth/publishers";
import { clock, ctx } from "@/tests/support/context";
import { callReleases, draftOf, publishDrafts, type ReleaseDraft } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { type TestUpload, uploadFile } from "@/tests/support/releases/uploads";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const issuer = await CiIssuer.start("github", clock.now);
afterAll(() => issuer.close());
isolateDataFolder();
afterEach(removeEndpoints);
beforeEach(async () => {
  await ctx().db.publisher.deleteMany();
});

const ID = "core-windows-x64-1.2.0";
const COMMIT = String(issuer.claims.sha);
const SOURCE = {
  repository: "acme/app",
  commit: COMMIT,
  ref: "refs/tags/v1.2.0",
  runUrl: `${issuer.origin}/acme/app/actions/runs/4711`,
};

const publish = async (token: string, upload: TestUpload, change: Partial<ReleaseDraft> = {}) => {
  const { releases, status } = await publishDrafts(token, [{ ...draftOf("1.2.0", upload), ...change }]);
  expect(status).toBe(201);
  return releases?.[0]?.outcome;
};
const publisherOf = async (id = ID) => (await callReleases("GET", `/${id}`, (await newKey()).key)).publishedBy;

/** A file of another kind, for a release that has an installer. */
const asUpdate = ({ id }: TestUpload) => ({ files: [{ uploadId: id, kinds: ["update"] }] });

test("a release remembers the publisher and what it built, in the catalog, the audit trail and webhooks", async () => {
  await newReceiver(["release.published"]);
  const job = await newPublisherJob(issuer);
  expect(await publish(job.key, await uploadFile(job))).toBe("added");
  const publishedBy = { type: "publisher", id: job.id, name: "acme/app", source: SOURCE };
  expect(await publisherOf()).toEqual(publishedBy);
  const promotion = { filter: { ids: [ID] }, from: "stable", to: "beta", confirmations: { isNew: true } };
  await callReleases("POST", "/promotions", (await newKey()).key, promotion);
  expect(await publisherOf(`${ID}-beta`)).toEqual(publishedBy);
  const events = await ctx().db.auditEvent.findMany({
    where: { actor: `publisher:${job.id}`, target: `release:${ID}` },
  });
  expect(events).toMatchObject([{ type: "release_published", details: { outcome: "added", source: SOURCE } }]);
  const sent = await ctx().db.webhookEvent.findMany({ where: { type: "release.published" }, orderBy: { id: "asc" } });
  const { name: _, ...told } = publishedBy;
  expect(sent.map(({ data }) => data)).toEqual(
    [ID, `${ID}-beta`].map((releaseId) => ({ releaseId, publishedBy: told })),
  );
  expect(listInstallers(ctx())?.map(({ latest }) => latest?.source)).toEqual([SOURCE]);
});

test("a draft says nothing about who publishes it", async () => {
  const key = await newKey();
  const { release } = draftOf("1.2.0", await uploadFile(key));
  const forged = { type: "publisher", id: "1", name: "acme/app", source: SOURCE };
  await publish(key.key, await uploadFile(key), { release: { ...release, publishedBy: forged } });
  expect(await publisherOf()).toEqual({ type: "key", id: key.id, name: "CI", source: null });
});

test("files that somebody else adds have no source, and the release none in common with them", async () => {
  const job = await newPublisherJob(issuer);
  const [again, key] = [await uploadFile(job), await newKey()];
  await publish(job.key, again);
  const added = await uploadFile(key, undefined, "update.exe");
  expect(await publish(key.key, added, asUpdate(added))).toBe("changed");
  expect(await publisherOf()).toEqual({ type: "key", id: key.id, name: "CI", source: null });
});

test.each([
  ["of the same commit keeps it", {}, SOURCE.commit],
  ["of another commit, as of a tag that moved in between, has none in common", { sha: "f".repeat(40) }, undefined],
])("a file that another job adds %s", async (_, claims, commit) => {
  const job = await newPublisherJob(issuer);
  await publish(job.key, await uploadFile(job));
  await ctx().db.publisher.deleteMany();
  const other = await newPublisherJob(issuer, {}, claims);
  const added = await uploadFile(other, undefined, "update.exe");
  await publish(other.key, added, asUpdate(added));
  const { id, source } = (await publisherOf()) as { id: string; source: { commit: string } | null };
  expect([id, source?.commit]).toEqual([other.id, commit]);
});

test("notes, and the same files again, leave it as it is", async () => {
  const job = await newPublisherJob(issuer);
  const bytes = Buffer.from("the same file twice");
  await publish(job.key, await uploadFile(job, bytes));
  const [before, key] = [await publisherOf(), await newKey()];
  expect(await publish(key.key, await uploadFile(key, bytes))).toBe("unchanged");
  const draft = draftOf("1.2.0", await uploadFile(key, bytes));
  expect(await publish(key.key, await uploadFile(key, bytes), { release: { ...draft.release, notes: "Faster" } })).toBe(
    "changed",
  );
  expect(await publisherOf()).toEqual(before);
});
