import { afterEach, beforeEach, expect, test } from "vitest";
import { listPolicies, policyState } from "@/lib/releases/policy/manage-policies";
import { readVersion } from "@/lib/releases/publishing/list-versions";
import { readCatalogState } from "@/lib/releases/publishing/seen-state";
import { readCatalog } from "@/lib/releases/publishing/service-catalog";
import { newKey } from "@/tests/support/auth/api-keys";
import { operatorWithRole } from "@/tests/support/console/operators";
import { ctx } from "@/tests/support/context";
import { publishVersion } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";
import { flashOf, submit } from "@/tests/support/web/forms";

const VERSION = { product: "core", channel: "stable", version: "2.0.0" };
const PAGE = "/console/releases/policy?product=core";

isolateDataFolder();

let cookie: string;
beforeEach(async () => {
  ({ cookie } = await operatorWithRole("admin"));
  await publishVersion(await newKey(), "1.0.0");
});
afterEach(async () => {
  await ctx().db.releasePolicy.deleteMany();
  await ctx().db.releaseAdmission.deleteMany();
});

const locationOf = (response: Response) => response.headers.get("location");
/** The state of the policy that the page shows now. */
const shownState = async () => policyState((await listPolicies(ctx(), {})).policies[0]);
const setPolicy = async (fields: Record<string, string>) => {
  const form = { product: "core", approvals: "0", previewed: await shownState(), ...fields };
  return submit("console/setReleasePolicy", form, { cookie });
};

test("the form sets what is checked, and says what waits", async () => {
  expect(locationOf(await setPolicy({ publisher: "on", approvals: "1" }))).toBe(`${PAGE}&done=set`);
  expect(locationOf(await setPolicy({ approvals: "1" }))).toBe(`${PAGE}&done=loosened`);
  expect(await ctx().db.releasePolicy.findUnique({ where: { product: "core" } })).toMatchObject({
    requirements: ["publisher"],
    approvals: 1,
    nextRequirements: [],
  });
  const withoutKey = flashOf(await setPolicy({ signature: "on" }));
  expect(withoutKey?.message).toContain("no public key");
  expect(withoutKey?.unshown).toEqual(["publicKeys"]);
  expect(Object.keys(flashOf(await setPolicy({ approvals: "11" }))?.fields ?? {})).toEqual(["approvals"]);
});

test("the form changes the policy that its page has shown, and not what somebody else has set meanwhile", async () => {
  const first = await shownState();
  expect(locationOf(await setPolicy({ publisher: "on", previewed: first }))).toBe(`${PAGE}&done=set`);
  expect(flashOf(await setPolicy({ approvals: "1", previewed: first }))?.message).toContain(
    "Somebody else has changed",
  );
  const second = await shownState();
  expect(locationOf(await setPolicy({ approvals: "1", previewed: second }))).toBe(`${PAGE}&done=loosened`);
  expect(flashOf(await setPolicy({ publisher: "on", approvals: "1", previewed: second }))?.message).toContain(
    "changed",
  );
  const policy = await ctx().db.releasePolicy.findUnique({ where: { product: "core" } });
  expect(policy).toMatchObject({ requirements: ["publisher"], approvals: 1, nextRequirements: [], nextApprovals: 1 });
});

test("a version is approved as the page has shown it, by another admin than its publisher", async () => {
  await setPolicy({ approvals: "1" });
  const id = await publishVersion(await newKey(), "2.0.0");
  expect((await readVersion(ctx(), VERSION)).releases).toMatchObject([{ id, admission: "pending" }]);
  const previewed = await readCatalogState(ctx().db, await readCatalog(ctx()), [id]);
  const approve = (state: string) => submit("console/approveReleases", { ...VERSION, previewed: state }, { cookie });
  expect(flashOf(await approve("another"))?.message).toContain("changed");
  expect((await getVersion(WINDOWS)).version).toBe("1.0.0");
  expect(locationOf(await approve(previewed))).toBe("/console/releases/core/stable/2.0.0?done=approved");
  expect((await getVersion(WINDOWS)).version).toBe("2.0.0");
  expect((await readVersion(ctx(), VERSION)).releases).toMatchObject([{ admission: "admitted" }]);
});
