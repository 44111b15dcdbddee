import { OPERATION, type Operation } from "../../capacity/costs";
import { addAccounts } from "../../fixtures/accounts";
import { homeportLogins } from "../../fixtures/logins";
import { addDevices } from "../../fixtures/outbox";
import type { Bench } from "../../lib/bench";
import { homeport, homeportWithPush } from "../../lib/candidates";
import { type ApplyLoad, type Candidate, compare, type Result } from "../../lib/compare";
import { databaseUsage } from "../../lib/database-usage";
import { type RequestSpec, runClosedLoop } from "../../lib/load";
import { isSmoke, SCALE } from "../../lib/scale";
import type { Server } from "../../lib/server";
import { type Row, type Section, spread, toRow } from "../../lib/table";
import { wrk } from "../../lib/wrk";
import { registration } from "../accounts/register";
import { prepareStatus } from "../billing/subscription-status";
import { deliveries } from "../billing/webhook";
import { BUNDLE_ID, startFakeApns } from "../push/fake-apns";
import { DEVICES, sendAnnouncements } from "../push/push-delivery";
import { prepareKnown, prepareNew } from "../push/push-register";
import { UPDATE_CHECK } from "../releases/version";

const WEBHOOK_CONNECTIONS = 64;
const SIGN_IN_CONNECTIONS = 8;
const BCRYPT_COST = { BCRYPT_COST: isSmoke ? "10" : "12" };

type Cost = { databaseCpuMs: number; walBytes: number };

/** What one operation of each kind costs the service and PostgreSQL: the basis of the capacity model. */
export async function operations(bench: Bench): Promise<Section> {
  const accounts = await addAccounts(bench, SCALE.accounts);
  const apns = await startFakeApns(bench.folder);
  const results: Result[] = [];
  const measure = async (name: Operation, candidate: (meter: Meter) => Candidate): Promise<Row> => {
    const costs: Cost[] = [];
    const [result] = await compare([{ ...candidate(meterOf(bench, costs)), name }]);
    if (!result) throw new Error(`${name} was not measured`);
    results.push(result);
    return { ...toRow(result), ...costsOf(costs), memoryMiB: null };
  };
  const rows = [
    await measure(OPERATION.updateCheck, (meter) =>
      homeport(bench, async ({ url }) => meter((seconds) => wrk(url + UPDATE_CHECK, seconds))),
    ),
    await measure(OPERATION.status, (meter) =>
      homeport(bench, async (server) => meter(await prepareStatus(bench, server, accounts))),
    ),
    await measure(
      OPERATION.billingEvent,
      closedLoop(bench, WEBHOOK_CONNECTIONS, async () => deliveries(accounts, [])),
    ),
    await measure(OPERATION.launch, (meter) =>
      homeportWithPush(bench, async (server) => meter(await prepareKnown(bench, server)), {}),
    ),
    await measure(OPERATION.newDevice, (meter) =>
      homeportWithPush(bench, async (server) => meter(await prepareNew(bench, server)), {}),
    ),
    await measure(OPERATION.notification, (meter) =>
      homeport(
        bench,
        async () => {
          await bench.database.query('TRUNCATE "PushDevice" CASCADE'); // of the registrations above
          await addDevices(bench.database, DEVICES, BUNDLE_ID);
          return meter(sendAnnouncements(bench));
        },
        apns.env,
      ),
    ),
    await measure(OPERATION.signIn, closedLoop(bench, SIGN_IN_CONNECTIONS, homeportLogins)),
    await measure(
      OPERATION.registration,
      closedLoop(bench, SIGN_IN_CONNECTIONS, async () => registration),
    ),
  ];
  await apns.server.stop();
  return { title: "one operation", rows, results };
}

/** Requests one after the other on each connection, at the service's default cost of bcrypt. */
function closedLoop(bench: Bench, connections: number, next: (url: string) => Promise<() => RequestSpec>) {
  return (meter: Meter): Candidate => {
    const prepare = async ({ url }: Server) => {
      const request = await next(url);
      return meter((seconds) => runClosedLoop(url, { connections, seconds }, request));
    };
    return homeport(bench, prepare, BCRYPT_COST);
  };
}

type Meter = (load: ApplyLoad) => ApplyLoad;

/** Measures PostgreSQL under a load. */
function meterOf({ database }: Bench, costs: Cost[]): Meter {
  return (load) => async (seconds) => {
    const before = await databaseUsage(database);
    const result = await load(seconds);
    const after = await databaseUsage(database);
    costs.push({
      databaseCpuMs: ((after.cpuSeconds - before.cpuSeconds) * 1000) / result.count,
      walBytes: (after.walBytes - before.walBytes) / result.count,
    });
    return result;
  };
}

/** Of the rounds, without the warm-up before them. */
function costsOf(costs: Cost[]): Pick<Row, "databaseCpuMsPerRequest" | "walBytesPerRequest"> {
  const rounds = costs.slice(-SCALE.rounds);
  return {
    databaseCpuMsPerRequest: spread(rounds.map(({ databaseCpuMs }) => databaseCpuMs)),
    walBytesPerRequest: spread(rounds.map(({ walBytes }) => walBytes)),
  };
}
