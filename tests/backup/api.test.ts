import { stat } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";

const BACKUPS = "/api/admin/backups";

test("an admin makes a backup in BACKUP_TO, and the audit trail says so", async () => {
  const { id: accountId, token } = await accountWithRole("admin");
  const response = await post(BACKUPS, {}, { token });
  expect(response.status).toBe(201);
  const { file, to, sizeBytes } = (await response.json()) as { file: string; to: string; sizeBytes: number };
  expect(to).toBe(ctx().config.BACKUP_TO);
  expect(await stat(path.join(to, file))).toMatchObject({ size: sizeBytes });
  const event = await ctx().db.auditEvent.findFirst({ where: { accountId, type: "backup_made" } });
  expect(event).toMatchObject({ target: `backup:${file}`, details: { to, sizeBytes } });
});

test("nobody else than a command on the machine chooses the place", async () => {
  const { token } = await accountWithRole("admin");
  const elsewhere = await post(BACKUPS, { to: "/tmp/stolen" }, { token });
  expect(await elsewhere.json()).toMatchObject({ status: 403, code: "forbidden" });
  for (const body of [{ to: "" }, { to: 1 }, { other: "" }]) {
    expect((await post(BACKUPS, body, { token })).status).toBe(422);
  }
});
