import type { Bench } from "./lib/bench";
import type { Section } from "./lib/table";
import type { WorkloadName } from "./report/groups";
import { accountEnumeration } from "./workloads/accounts/account-enumeration";
import { healthDuringLogins } from "./workloads/accounts/health-during-logins";
import { importAccounts } from "./workloads/accounts/import";
import { login } from "./workloads/accounts/login";
import { register } from "./workloads/accounts/register";
import { fold } from "./workloads/billing/fold";
import { subscriptionStatus } from "./workloads/billing/subscription-status";
import { webhook } from "./workloads/billing/webhook";
import { webhookEmbedded } from "./workloads/billing/webhook-embedded";
import { consolePages } from "./workloads/console/console";
import { growth } from "./workloads/growth/growth";
import { attestation } from "./workloads/push/attestation";
import { pushDelivery } from "./workloads/push/push-delivery";
import { pushRefresh, pushRegister } from "./workloads/push/push-register";
import { adoption } from "./workloads/releases/adoption";
import { download } from "./workloads/releases/download";
import { selection } from "./workloads/releases/selection";
import { version, versionNotModified } from "./workloads/releases/version";
import { bytes } from "./workloads/server/bytes";
import { health } from "./workloads/server/health";
import { healthDuringPageLoad } from "./workloads/server/health-during-page-load";
import { operations } from "./workloads/server/operations";
import { start } from "./workloads/server/start";

export type Workload = (bench: Bench) => Promise<Section>;

export const WORKLOADS: Record<WorkloadName, Workload> = {
  health,
  version,
  "version-not-modified": versionNotModified,
  adoption,
  selection,
  download,
  webhook,
  "webhook-embedded": webhookEmbedded,
  "subscription-status": subscriptionStatus,
  fold,
  login,
  register,
  "health-during-logins": healthDuringLogins,
  "health-during-page-load": healthDuringPageLoad,
  "account-enumeration": accountEnumeration,
  import: importAccounts,
  console: consolePages,
  "push-register": pushRegister,
  "push-refresh": pushRefresh,
  "push-delivery": pushDelivery,
  attestation,
  start,
  operations,
  bytes,
  growth,
};
