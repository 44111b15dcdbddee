import type { Bench } from "./lib/bench";
import type { Section } from "./lib/table";
import { accountEnumeration } from "./workloads/accounts/account-enumeration";
import { healthDuringLogins } from "./workloads/accounts/health-during-logins";
import { login } from "./workloads/accounts/login";
import { register } from "./workloads/accounts/register";
import { fold } from "./workloads/billing/fold";
import { subscriptionStatus } from "./workloads/billing/subscription-status";
import { webhook } from "./workloads/billing/webhook";
import { webhookEmbedded } from "./workloads/billing/webhook-embedded";
import { attestation } from "./workloads/push/attestation";
import { pushDelivery } from "./workloads/push/push-delivery";
import { pushRefresh, pushRegister } from "./workloads/push/push-register";
import { download } from "./workloads/releases/download";
import { selection } from "./workloads/releases/selection";
import { version, versionNotModified } from "./workloads/releases/version";
import { health } from "./workloads/server/health";
import { healthDuringPageLoad } from "./workloads/server/health-during-page-load";
import { start } from "./workloads/server/start";

export type Workload = (bench: Bench) => Promise<Section>;

/** The workloads by name. Each group is one table of docs/performance.md. */
export const GROUPS = {
  updates: { health, version, "version-not-modified": versionNotModified, selection, download },
  billing: { webhook, "webhook-embedded": webhookEmbedded, "subscription-status": subscriptionStatus, fold },
  accounts: {
    login,
    register,
    "health-during-logins": healthDuringLogins,
    "health-during-page-load": healthDuringPageLoad,
    "account-enumeration": accountEnumeration,
  },
  push: {
    "push-register": pushRegister,
    "push-refresh": pushRefresh,
    "push-delivery": pushDelivery,
    attestation,
  },
  start: { start },
} satisfies Record<string, Record<string, Workload>>;

export const WORKLOADS = new Map<string, Workload>(Object.values(GROUPS).flatMap((group) => Object.entries(group)));
