import type { Assumptions } from "./assumptions";
import type { Costs, OperationName } from "./costs";

const MB = 1e6;
const GB = 1e9;
const DAY_SECONDS = 24 * 60 * 60;
const MONTH_SECONDS = 30 * DAY_SECONDS;

/**
 * Operations a second, in the busiest hour, of so many installed desktop clients and of the accounts and phones that come
 * with them.
 */
function demandOf(clients: number, assumptions: Assumptions): Record<OperationName, number> {
  const of = (name: keyof Assumptions) => assumptions[name].value;
  const accounts = clients * of("signedIn");
  const phones = accounts * of("phones");
  const aDay = (operations: number) => (of("peak") * operations) / DAY_SECONDS;
  const aMonth = (operations: number) => (of("peak") * operations) / MONTH_SECONDS;
  return {
    updateCheck: aDay(clients * (of("hoursADay") / of("checkHours") + of("launchesADay"))),
    status: aDay(accounts * of("statusADay")),
    billingEvent: aMonth(accounts * of("subscribers") * of("eventsAMonth")),
    launch: aDay(phones * of("phoneLaunchesADay")),
    newDevice: aMonth(phones * of("newPhonesAMonth")),
    notification: phones / (of("announcementHours") * 60 * 60), // in the hours of an announcement
    signIn: aMonth(accounts * of("signInsAMonth")),
    registration: aMonth(accounts * of("newAccountsAMonth")),
  };
}

/** What a company with so many installed clients needs. Cores are those that are busy in the busiest hour. */
export function needsOf(clients: number, costs: Costs, assumptions: Assumptions) {
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
    demand,
    serverCores,
    databaseCores,
    serverCoresBehindCdn, // without update checks
    instances: instances(serverCores), // at the planned utilization; at least two, so that one may fail
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
