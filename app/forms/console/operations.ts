import { accountOperations, operatorOperations } from "@/lib/accounts/admin/operations";
import { mailOperations } from "@/lib/accounts/emails/operations";
import { keyOperations } from "@/lib/auth/api-keys/operations";
import { publisherOperations } from "@/lib/auth/publishers/operations";
import type { FormOperation } from "@/lib/operation";
import { forgetShownSecret } from "@/lib/platform/http/pages/page-cookies";
import { pushOperations } from "@/lib/push/admin/operations";
import { policyOperations } from "@/lib/releases/policy/operations";
import { releaseOperations } from "@/lib/releases/publishing/operations";
import { uploadOperations } from "@/lib/releases/uploads/operations";
import { billingOperations } from "@/lib/subscriptions/admin/operations";
import { grantOperations } from "@/lib/subscriptions/grants/operations";
import { webhookOperations } from "@/lib/webhooks/operations";

/** The operations of the console by the page that their forms lead to, unless the field `returnTo` names another one. */
const PAGES: Record<string, Record<string, FormOperation>> = {
  "/console/accounts": { ...accountOperations, ...grantOperations },
  "/console/billing": billingOperations,
  "/console/push": pushOperations,
  "/console/push/mail": mailOperations,
  "/console/releases": releaseOperations,
  "/console/releases/policy": policyOperations,
  "/console/releases/upload": uploadOperations,
  "/console/settings/keys": { ...keyOperations, forgetShownSecret },
  "/console/settings/operators": operatorOperations,
  "/console/settings/publishers": publisherOperations,
  "/console/settings/webhooks": webhookOperations,
};

/** Each operation that has a form, with its page. */
export const FORM_OPERATIONS = Object.entries(PAGES).flatMap(([page, operations]) =>
  Object.values(operations).flatMap((operation) => (operation.form ? [{ page, operation }] : [])),
);
