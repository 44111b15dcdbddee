import type { Assumptions } from "./assumptions";
import type { OperationName } from "./costs";

const DAY_SECONDS = 24 * 60 * 60;
const MONTH_SECONDS = 30 * DAY_SECONDS;

/** Operations a second in the busiest hour. */
export type Demand = Record<OperationName, number>;

/** What so many installed desktop clients, and the accounts and phones that come with them, ask for. */
export function demandOf(clients: number, assumptions: Assumptions): Demand {
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
