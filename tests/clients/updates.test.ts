import { expect, test } from "vitest";
import { checkForUpdate, getSubscriptionStatus, isEntitledTo, memoryStore } from "@/clients/js/src/index";
import { thisComputer } from "@/clients/js/src/node";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { newClient } from "@/tests/support/clients/client";
import { examplesOf } from "@/tests/support/guide";

const AsyncFunction = (async () => {}).constructor as new (
  ...args: string[]
) => (...values: unknown[]) => Promise<void>;

test("an app learns of the release that it should update to, and of none when it is up to date", async () => {
  const { client } = newClient();
  const query = "platform=windows&product=core&architecture=x64";
  const newest = (await (await get(`/api/version?${query}`)).json()) as { version: string };
  const app = { product: "core", platform: "windows", architecture: "x64" } as const;
  expect(await checkForUpdate(client, { ...app, version: "1.0.0" })).toMatchObject({
    version: newest.version,
    updateAvailable: true,
    artifact: { sizeBytes: expect.any(Number) },
  });
  expect(await checkForUpdate(client, { ...app, version: newest.version })).toBeNull();
  await expect(checkForUpdate(client, { ...app, version: "1.0.0", product: "unknown" })).rejects.toMatchObject({
    status: expect.any(Number),
    code: expect.stringMatching(/^(invalid_query|release_not_found)$/),
  });
});

test("the guide's example gets the sample release that it names", async () => {
  const { client } = newClient();
  const example = examplesOf("clients").get("sample-update.js") ?? "";
  const printed: unknown[] = [];
  const run = new AsyncFunction("homeport", "checkForUpdate", "console", example);
  await run(client, checkForUpdate, { log: (value: unknown) => printed.push(value) });
  expect(printed).toEqual([/\/\/ (\S+)$/m.exec(example)?.[1]]);
});

test("the platform and the architecture of this computer are ones that the service knows", async () => {
  const { client } = newClient();
  const error = await checkForUpdate(client, { product: "core", version: "1.0.0", ...thisComputer() }).catch((e) => e);
  expect(error?.code).not.toBe("invalid_query");
});

test("an account without purchases is entitled to nothing", async () => {
  const { token } = await newAccount();
  const { client } = newClient({ session: memoryStore(token) });
  const status = await getSubscriptionStatus(client);
  expect(status).toMatchObject({ status: "none", isActive: false });
  expect(isEntitledTo(status, "pro")).toBe(false);
  expect(isEntitledTo({ entitlements: [{ id: "pro", isActive: true }] }, "pro")).toBe(true);
  expect(isEntitledTo({ entitlements: [{ id: "pro", isActive: false }] }, "pro")).toBe(false);
});
