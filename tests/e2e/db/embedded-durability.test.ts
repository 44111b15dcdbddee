import { expect, test } from "vitest";
import { canMount, type Disk, newDisk } from "@/tests/support/process/disk";
import { preparedDataDir, type Service, startForTest } from "@/tests/support/process/service";
import { billingEvent, deliverTo, type Sent } from "@/tests/support/subscriptions/billing";

const WRITERS = 8;
const ACKNOWLEDGED = 60;

test.runIf(canMount)(
  "a power cut under load loses nothing that was acknowledged; a disk that runs full refuses writes, until it has room",
  async () => {
    const disk = await newDisk(512);
    const env = { DATA_DIR: await preparedDataDir(`${disk.folder}/data`) };
    await disk.flush(); // homeport.synced, which is copied, says that the files are on the disk
    const service = await startForTest(env);
    const acknowledged = await writeUntilPowerCut(service, disk);
    await service.end("SIGKILL");
    await disk.remount();

    const again = await startForTest(env);
    const lost: Sent[] = [];
    for (const event of acknowledged) {
      const { status } = (await (await deliverTo(again, event)).json()) as { status: string };
      if (status !== "duplicate") lost.push(event);
    }
    expect({ lost: lost.length, enough: acknowledged.length >= ACKNOWLEDGED }).toEqual({ lost: 0, enough: true });

    await requireRefusal(again, disk);
    expect(await again.end("SIGTERM")).toBe(0);
  },
);

/** Resolves to the events that were acknowledged before the cut. */
async function writeUntilPowerCut(service: Service, disk: Disk): Promise<Sent[]> {
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
  return acknowledged;
}

/** Writes are refused in time, and go on by themselves with room. */
async function requireRefusal(service: Service, disk: Disk): Promise<void> {
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
  await expect.poll(async () => (await service.fetch("/api/health")).status).toBe(200);
  expect(await (await deliverTo(service, before)).json()).toMatchObject({ status: "duplicate" });
  expect(await (await deliverTo(service, after)).json()).not.toMatchObject({ status: "duplicate" });
  expect(service.output().match(/the disk is almost full/g)).toHaveLength(1);
}
