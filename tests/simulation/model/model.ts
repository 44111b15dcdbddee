import type { Publisher } from "../operations/publisher";
import { Account } from "./accounts";
import { type Usable, Violation } from "./fact";
import type { ApiKey } from "./operators";
import type { Message } from "./push";
import { Catalog } from "./releases";
import type { Endpoint } from "./webhooks";

/** Half of the life of a link that sets a password: after that its email may be discarded. */
const MAX_EMAIL_AGE_MS = 15 * 60_000;
/** Less than what any notice is worth sending. */
const MAX_NOTICE_AGE_MS = 86_400_000;
/** What an operator's acknowledged changes have to leave in the audit trail. */
type Audited = { acknowledged: number; unknown: number };

/** It is not sent if it is about something that does not work any more. */
type OwedEmail = { subject: string; after: number; atMs: number; about: Usable | null };

/** What was acknowledged, and what may have happened. It has no I/O. */
export class Model {
  readonly accounts: Account[] = [];
  readonly keys: ApiKey[] = [];
  readonly publishers: Publisher[] = [];
  endpoint: Endpoint | null = null;
  readonly catalog = new Catalog();
  /** By type, and by type and subject. */
  readonly audited = new Map<string, Audited>();
  /** What has arrived, by its id: the faults when it was claimed and sent, or null if the sender may not know that it has arrived. */
  readonly arrivals = new Map<string, number | null>();
  /** Emails that were queued with an acknowledged change: which were before it does not count. */
  readonly owedEmails: (OwedEmail & { account: Account; to: string })[] = [];
  /** Of the endpoint that gets all events: those that were received, by their ids. */
  readonly received = new Map<string, { type: string; data: Record<string, unknown>; count: number }>();
  readonly messages: Message[] = [];
  readonly crashes = { count: 0 };
  nextNumber = 1;
  /** How long after a change another instance may not know of it, if it is of what each keeps in memory. */
  followMs = 0;

  addAccount(password: string | null): Account {
    const account = new Account(this.nextNumber++, password);
    this.accounts.push(account);
    return account;
  }

  /** The process has ended: no operation is under way. */
  lose(): void {
    this.crashes.count += 1;
    for (const one of [...this.accounts, ...this.keys, ...this.publishers]) one.isBusy = false;
    if (this.endpoint) this.endpoint.isBusy = false;
    this.catalog.lose();
    for (const one of [...this.keys, ...this.publishers]) if (one.works.possible.length > 1) one.isUnsure = true;
  }

  /** Emails that were asked for, and need not have expired, have arrived. */
  checkEmails(arrived: readonly { to: string; subject: string }[], calmFromMs: number): void {
    for (const { account, to, subject, after, atMs, about } of this.owedEmails) {
      const isRead = account.exists.is(true) && account.email.is(to);
      const isNeeded = isRead && calmFromMs - atMs < MAX_NOTICE_AGE_MS && (about?.works.is(true) ?? true);
      if (isNeeded && !arrived.slice(after).some((email) => email.to === to && email.subject === subject))
        throw new Violation("email is not sent", `${account.name}: ${subject}`);
    }
    for (const { name, askedAtMs, mustBeTold, wasTold } of this.accounts)
      if ((mustBeTold && !wasTold) || (askedAtMs !== null && calmFromMs - askedAtMs < MAX_EMAIL_AGE_MS))
        throw new Violation("email is not sent", name);
  }

  /** An operator's change is sent, which writes an event if it is applied. */
  willAudit(type: string, subject = ""): { done: () => void; refused: () => void } {
    const keys = [type, `${type} ${subject}`];
    const add = (acknowledged: number, unknown: number) => {
      for (const key of keys) {
        const before = this.audited.get(key) ?? { acknowledged: 0, unknown: 0 };
        const after = { acknowledged: before.acknowledged + acknowledged, unknown: before.unknown + unknown };
        this.audited.set(key, after);
      }
    };
    add(0, 1);
    return { done: () => add(1, -1), refused: () => add(0, -1) };
  }

  /** The events of a type or, as "TYPE SUBJECT", of a type and a subject. */
  sawAudit(key: string, count: number): void {
    const [type] = key.split(" ", 1);
    const none = { acknowledged: 0, unknown: 0 };
    const { acknowledged, unknown } = this.audited.get(key) ?? none;
    const elsewhere = (type !== key && this.audited.get(`${type} `)) || none;
    if (count < acknowledged) throw new Violation("audit event is missing", `${key}: ${count} of ${acknowledged}`);
    if (count > acknowledged + unknown + elsewhere.acknowledged + elsewhere.unknown)
      throw new Violation("audit event without a change", `${key}: ${count}, of ${acknowledged} changes`);
  }

  /** Something has arrived that arrives again only after a fault. `since`: as in `arrivals`. */
  sawArrival(what: string, id: string, since: number | null, faults: number): void {
    if (this.arrivals.get(id) === faults) throw new Violation(`${what} twice`, id);
    this.arrivals.set(id, since);
  }

  /** A device has got something, by its endpoint or token. */
  sawNotification(address: string, text: string, sentAtMs: number, since: number | null, faults: number): void {
    const message = this.messages.find((one) => one.text === text); // else it is not an operator's
    const all = this.accounts.flatMap(({ devices, activities }) => [...devices, ...activities]);
    const devices = all.filter((one) => one.address === address);
    const may = devices.filter((one) => message?.mayReach(one));
    const device = may.find(({ works }) => works.is(true)) ?? may[0] ?? devices[0];
    if (!device || !message) return;
    message.reached(device, sentAtMs);
    this.sawArrival("notification is delivered", `${text} to ${address}`, since, faults);
  }

  /** A delivery to the endpoint that gets all events, which answered 2xx. */
  sawDelivery(id: string, type: string, data: Record<string, unknown> | null): void {
    const known = this.received.get(id) ?? { type, data: data ?? {}, count: 0 };
    known.count += 1;
    this.received.set(id, known);
  }
}
