import { Account } from "./accounts";
import { Violation } from "./fact";
import type { ApiKey } from "./operators";
import type { Message } from "./push";
import { Catalog } from "./releases";

/** Half of the life of a link that sets a password: after that its email may be discarded. */
const MAX_EMAIL_AGE_MS = 15 * 60_000;
/** What an operator's acknowledged changes have to leave in the audit trail. */
type Audited = { acknowledged: number; unknown: number };

/** What was acknowledged, and what may have happened. It has no I/O. */
export class Model {
  readonly accounts: Account[] = [];
  readonly keys: ApiKey[] = [];
  readonly catalog = new Catalog();
  readonly audited = new Map<string, Audited>();
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
    for (const one of [...this.accounts, ...this.keys]) {
      one.isBusy = false;
    }
    this.catalog.lose();
    for (const key of this.keys) if (key.works.possible.length > 1) key.isUnsure = true;
  }

  /** Emails that were asked for, and need not have expired, have arrived. */
  checkEmails(calmFromMs: number): void {
    for (const { name, askedAtMs, mustBeTold, wasTold } of this.accounts)
      if ((mustBeTold && !wasTold) || (askedAtMs !== null && calmFromMs - askedAtMs < MAX_EMAIL_AGE_MS))
        throw new Violation("email is not sent", name);
  }

  /** An operator's change is sent, which writes an event if it is applied. */
  willAudit(type: string): { done: () => void; refused: () => void } {
    const audited = this.audited.get(type) ?? { acknowledged: 0, unknown: 0 };
    this.audited.set(type, audited);
    audited.unknown += 1;
    return {
      done: () => {
        audited.unknown -= 1;
        audited.acknowledged += 1;
      },
      refused: () => {
        audited.unknown -= 1;
      },
    };
  }

  sawAudit(type: string, count: number): void {
    const { acknowledged, unknown } = this.audited.get(type) ?? { acknowledged: 0, unknown: 0 };
    if (count < acknowledged) throw new Violation("audit event is missing", `${type}: ${count} of ${acknowledged}`);
    if (count > acknowledged + unknown)
      throw new Violation("audit event without a change", `${type}: ${count}, of ${acknowledged} changes`);
  }

  /** A device has got something, by its endpoint or token. */
  sawNotification(address: string, text: string, sentAtMs: number): void {
    const device = this.accounts.flatMap(({ devices }) => devices).find((one) => one.address === address);
    const message = this.messages.find((one) => one.text === text); // else it is not an operator's
    if (device && message) message.reached(device, sentAtMs);
  }

  /** A delivery to the endpoint that gets all events, which answered 2xx. */
  sawDelivery(id: string, type: string, data: Record<string, unknown> | null): void {
    const known = this.received.get(id) ?? { type, data: data ?? {}, count: 0 };
    known.count += 1;
    this.received.set(id, known);
  }
}
