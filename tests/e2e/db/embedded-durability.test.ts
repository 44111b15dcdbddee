import { expect, test } from "vitest";
import { billingEvent, deliverTo, type Sent } from "@/tests/support/billing/billing";
import { canMount, newDisk } from "@/tests/support/process/disk";
import { preparedDataDir, startForTest } from "@/tests/support/process/service";

const WRITERS = 8;
const ACKNOWLEDGED = 200;

test.runIf(canMount)("a power cut under load loses nothing that was acknowledged", async () => {
  const disk = await newDisk(512);
  const env = { DATA_DIR: await preparedDataDir(`${disk.folder}/data`) };
  await disk.flush(); // homeport.synced, which is copied, says that the files are on the disk
  const service = await startForTest(env);
  const acknowledged: Sent[] = [];
  let isCut: Promise<void> | undefined;
  const write = async () => {
    for (;;) {
      const event = billingEvent("INITIAL_PURCHASE");
      if (!(await deliverTo(service, event)).ok) return;
      acknowledged.push(event);
      if (acknowledged.length >= ACKNOWLEDGED) isCut ??= disk.cutPower();
    }
  };
  await Promise.allSettled(Array.from({ length: WRITERS }, write));
  await isCut;
  await service.end("SIGKILL");
  await disk.remount();

  const again = await startForTest(env);
  const lost: Sent[] = [];
  for (const event of acknowledged) {
    const { status } = (await (await deliverTo(again, event)).json()) as { status: string };
    if (status !== "duplicate") lost.push(event);
  }
  expect({ lost: lost.length, enough: acknowledged.length >= ACKNOWLEDGED }).toEqual({ lost: 0, enough: true });
});

test.runIf(canMount)(
  "a disk that runs full refuses writes in time, and writes go on by themselves with room",
  async () => {
    const disk = await newDisk(512);
    const service = await startForTest({ DATA_DIR: await preparedDataDir(`${disk.folder}/data`) });
    const [before, after] = [billingEvent("INITIAL_PURCHASE"), billingEvent("INITIAL_PURCHASE")];
    expect((await deliverTo(service, before)).status).toBe(200);

    await disk.leaveFree(60 * 2 ** 20);
    for (let tries = 0; tries < 3; tries++) {
      const refused = await deliverTo(service, after);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
      expect(await refused.json()).toMatchObject({ code: "storage_full" });
    }
    const health = await service.fetch("/api/health");
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ checks: { database: "ok", storage: "error" } });
    for (const path of ["/api/health?probe=live", "/api/version", "/api/download/windows"]) {
      expect({ path, status: (await service.fetch(path, { method: "HEAD" })).status }).toEqual({ path, status: 200 });
    }

    await disk.freeAll();
    await expect.poll(async () => (await service.fetch("/api/health")).status, { timeout: 20_000 }).toBe(200);
    expect(await (await deliverTo(service, before)).json()).toMatchObject({ status: "duplicate" });
    expect(await (await deliverTo(service, after)).json()).not.toMatchObject({ status: "duplicate" });
    expect(service.output().match(/the disk is almost full/g)).toHaveLength(1);
    expect(await service.end("SIGTERM")).toBe(0);
  },
);
