import { mkdtemp, readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { POST as exportDatabase } from "@/app/api/admin/database/export/route";
import { createOperatorKey } from "@/lib/auth/local-operator";
import { post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { BASE_URL, ctx, withContext } from "@/tests/support/context";
import { onRow, repair } from "@/tests/support/subscriptions/faults";

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

describe("a file that the audit trail cannot record is not left:", () => {
  async function withoutAudit(send: () => Promise<Response>) {
    const DATA_DIR = await mkdtemp(path.join(tmpdir(), "homeport-data-"));
    await onRow("INSERT", "RAISE EXCEPTION 'terminating connection' USING ERRCODE = '57P01';", "AuditEvent");
    onTestFinished(repair);
    const response = await withContext({ config: { DATA_DIR, BACKUP_TO: DATA_DIR } }, send);
    expect([response.status, await response.json()]).toMatchObject([503, { code: "unavailable" }]);
    const files = await readdir(DATA_DIR, { recursive: true });
    expect(files.filter((name) => name.includes("homeport-"))).toEqual([]);
  }

  test("a backup", async () => {
    const { token } = await accountWithRole("admin");
    await withoutAudit(() => post(BACKUPS, {}, { token }));
  });

  test("the copy of an export", async () => {
    const operatorKey = createOperatorKey();
    const headers = { authorization: `Bearer ${operatorKey.text}`, "content-type": "application/json" };
    const request = new Request(`${BASE_URL}/api/admin/database/export`, { method: "POST", headers, body: "{}" });
    const send = () => exportDatabase(request, { socketIp: "127.0.0.1" });
    await withoutAudit(() => withContext({ operatorKey }, send));
  });
});
