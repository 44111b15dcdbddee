import type { Assumptions } from "./assumptions";
import type { Costs, OperationName } from "./costs";
import { type Demand, demandOf } from "./demand";

const MB = 1e6;
const GB = 1e9;

/** What a company with so many installed clients needs. */
export type Needs = {
  clients: number;
  demand: Demand;
  /** CPU cores that are busy in the busiest hour. */
  serverCores: number;
  databaseCores: number;
  /** Without update checks, which a CDN can take over. */
  serverCoresBehindCdn: number;
  /** At the planned utilization; at least two, so that one may fail. */
  instances: number;
  instancesBehindCdn: number;
  /** PostgreSQL servers of the planned size that the writes need, by accounts. */
  databases: number;
  databaseGb: number;
  walMbPerSecond: number;
  checksGbAMonth: number;
  updatesTbAMonth: number;
};

export function needsOf(clients: number, costs: Costs, assumptions: Assumptions): Needs {
  const of = (name: keyof Assumptions) => assumptions[name].value;
  const demand = demandOf(clients, assumptions);
  const sum = (cost: (name: OperationName) => number) =>
    (Object.keys(demand) as OperationName[]).reduce((total, name) => total + demand[name] * cost(name), 0);
  const serverCores = sum((name) => costs.operations[name].serverMs) / 1000;
  const databaseCores = sum((name) => costs.operations[name].databaseMs) / 1000;
  const serverCoresBehindCdn = serverCores - (demand.updateCheck * costs.operations.updateCheck.serverMs) / 1000;
  const instances = (cores: number) => Math.max(2, Math.ceil(cores / of("coresAnInstance") / of("utilization")));
  const checksAMonth = (demand.updateCheck / of("peak")) * 30 * 24 * 60 * 60;
  const updateMb = of("differentialMb") * of("differentialShare") + of("installerMb") * (1 - of("differentialShare"));
  return {
    clients,
    demand,
    serverCores,
    databaseCores,
    serverCoresBehindCdn,
    instances: instances(serverCores),
    instancesBehindCdn: instances(serverCoresBehindCdn),
    databases: Math.max(1, Math.ceil(databaseCores / of("utilization") / of("databaseCores"))),
    databaseGb: storedBytes(clients, costs, assumptions) / GB,
    walMbPerSecond: sum((name) => costs.operations[name].walBytes) / MB,
    checksGbAMonth: (checksAMonth * costs.updateCheckBytes) / GB,
    updatesTbAMonth: (clients * of("releasesAMonth") * updateMb * MB) / 1e12,
  };
}

/** The tables that grow with customers, after the planned years. */
function storedBytes(clients: number, { storedBytes: bytes }: Costs, assumptions: Assumptions): number {
  const of = (name: keyof Assumptions) => assumptions[name].value;
  const accounts = clients * of("signedIn");
  const subscribers = accounts * of("subscribers");
  const phones = accounts * of("phones");
  const months = of("years") * 12;
  return (
    accounts * (bytes.Account + bytes.Session) +
    accounts * of("securityEventsAMonth") * months * bytes.AuditEvent +
    subscribers * (bytes.Purchase + of("eventsAMonth") * months * bytes.BillingEvent) +
    phones * (bytes.PushDevice + of("announcementsAMonth") * bytes.PushReceipt)
  );
}
