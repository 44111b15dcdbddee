import { USER } from "../auth/examples";
import { PREFERENCES } from "../push/operations";

/** The export of an account that has done nothing. */
export const NEW_ACCOUNT_EXPORT = {
  schema: "account-export",
  schemaVersion: 1,
  exportedAt: "2026-11-20T09:30:00.000Z",
  account: { ...USER, role: "user", locale: "en", externalId: null, appUserIds: [], updatedAt: USER.createdAt },
  identities: [],
  emailChanges: [],
  sessions: [],
  factors: { totp: null, recoveryCodes: null, passkeys: [] },
  devices: [],
  notificationPreferences: PREFERENCES,
  subscriptions: [],
  billingEvents: [],
  securityEvents: [],
};
