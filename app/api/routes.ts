import { accountOperations } from "@/lib/accounts/admin/operations";
import { emailChangeOperations } from "@/lib/accounts/email-change/operations";
import { mailOperations } from "@/lib/accounts/emails/operations";
import { ownAccountOperations } from "@/lib/accounts/operations";
import { factorOperations, passkeyOperations } from "@/lib/accounts/sign-in-methods/operations";
import { keyOperations } from "@/lib/auth/api-keys/operations";
import { oauthOperations } from "@/lib/auth/authorization-server/operations";
import { nextAuthOperations } from "@/lib/auth/next-auth/operations";
import { auditOperations } from "@/lib/platform/audit/operations";
import { backupOperations, databaseOperations } from "@/lib/platform/backup/operations";
import { healthOperations } from "@/lib/platform/http/health";
import { retiredEndpoint } from "@/lib/platform/http/retired-endpoint";
import { defineRoute } from "@/lib/platform/http/route";
import { pushOperations } from "@/lib/push/admin/operations";
import { deviceOperations, liveActivityOperations } from "@/lib/push/operations";
import { downloadOperations } from "@/lib/releases/operations";
import { releaseOperations } from "@/lib/releases/publishing/operations";
import { rolloutOperations } from "@/lib/releases/rollouts/operations";
import { updateOperations } from "@/lib/releases/updates/operations";
import { uploadOperations } from "@/lib/releases/uploads/operations";
import { billingOperations } from "@/lib/subscriptions/admin/operations";
import { subscriptionOperations } from "@/lib/subscriptions/operations";
import { webhookOperations } from "@/lib/webhooks/operations";

/** The operations of the API by path, as the App Router writes it, and method. */
const OPERATIONS: Record<string, Parameters<typeof defineRoute>[1]> = {
  "/api/admin/accounts": { GET: accountOperations.searchAccounts },
  "/api/admin/accounts/[accountId]": {
    GET: accountOperations.showAccount,
    DELETE: accountOperations.deleteAccountAsOperator,
  },
  "/api/admin/accounts/[accountId]/disable": { POST: accountOperations.disableAccount },
  "/api/admin/accounts/[accountId]/enable": { POST: accountOperations.enableAccount },
  "/api/admin/accounts/[accountId]/events": { GET: accountOperations.listAccountEvents },
  "/api/admin/accounts/[accountId]/export": {
    GET: accountOperations.exportAccountAsOperator,
    HEAD: accountOperations.headExportAccountAsOperator,
  },
  "/api/admin/accounts/[accountId]/grant": { POST: accountOperations.setAccountRole },
  "/api/admin/accounts/[accountId]/reset-factors": { POST: accountOperations.resetAccountFactors },
  "/api/admin/accounts/[accountId]/revoke-sessions": { POST: accountOperations.endAccountSessions },
  "/api/admin/accounts/[accountId]/sessions/[sessionId]": { DELETE: accountOperations.endAccountSession },
  "/api/admin/accounts/[accountId]/unlink": { POST: accountOperations.unlinkAccountProvider },
  "/api/admin/audit": { GET: auditOperations.listAuditEvents },
  "/api/admin/audit.csv": { GET: auditOperations.downloadAuditEvents },
  "/api/admin/backups": { POST: backupOperations.createBackup },
  "/api/admin/billing/assignments": { POST: billingOperations.assignPurchases },
  "/api/admin/billing/events": { GET: billingOperations.listBillingEvents },
  "/api/admin/billing/events/[id]": { GET: billingOperations.showBillingEvent },
  "/api/admin/billing/events/[id]/replay": { POST: billingOperations.replayBillingEvent },
  "/api/admin/billing/products": { GET: billingOperations.listBillingProducts },
  "/api/admin/billing/prune": { POST: billingOperations.pruneBillingPayloads },
  "/api/admin/billing/purchases/[id]": { GET: billingOperations.showPurchaseTimeline },
  "/api/admin/billing/reconciliations": { POST: billingOperations.reconcilePurchases },
  "/api/admin/billing/replays": { POST: billingOperations.replayBillingEvents },
  "/api/admin/database/move": {
    GET: databaseOperations.getDatabaseMove,
    POST: databaseOperations.moveDatabase,
    DELETE: databaseOperations.cancelDatabaseMove,
  },
  "/api/admin/keys": { GET: keyOperations.listApiKeys, POST: keyOperations.createApiKey },
  "/api/admin/keys/[keyId]": { DELETE: keyOperations.revokeApiKey },
  "/api/admin/mail/messages": { GET: mailOperations.listQueuedEmails },
  "/api/admin/mail/messages/[emailId]": { DELETE: mailOperations.removeQueuedEmail },
  "/api/admin/mail/retries": { POST: mailOperations.retryQueuedEmails },
  "/api/admin/push/deliveries": { GET: pushOperations.listPushDeliveries },
  "/api/admin/push/estimates": { GET: pushOperations.estimateAnnouncement, POST: pushOperations.estimateAudience },
  "/api/admin/push/messages": { GET: pushOperations.listPushMessages, POST: pushOperations.sendPushMessage },
  "/api/admin/push/messages/[messageId]": {
    GET: pushOperations.showPushMessage,
    DELETE: pushOperations.cancelPushMessage,
  },
  "/api/admin/push/pauses": { GET: pushOperations.listPushPauses },
  "/api/admin/push/pauses/[environment]": { DELETE: pushOperations.endPushPause },
  "/api/admin/push/retries": { POST: pushOperations.retryPushDeliveries },
  "/api/admin/push/statistics": { GET: pushOperations.readPushStatistics },
  "/api/admin/releases": {
    GET: releaseOperations.listReleases,
    POST: releaseOperations.publishReleases,
    PATCH: releaseOperations.changeReleases,
  },
  "/api/admin/releases/[releaseId]": {
    GET: releaseOperations.getRelease,
    PATCH: releaseOperations.changeRelease,
    DELETE: releaseOperations.removeRelease,
  },
  "/api/admin/releases/adoption": { GET: releaseOperations.getAdoption },
  "/api/admin/releases/previews": { POST: releaseOperations.previewReleases },
  "/api/admin/releases/promotions": { POST: releaseOperations.promoteReleases },
  "/api/admin/releases/prune": { POST: releaseOperations.pruneReleases },
  "/api/admin/releases/removals": { POST: releaseOperations.removeReleases },
  "/api/admin/releases/rollbacks": { POST: releaseOperations.rollBackReleases },
  "/api/admin/releases/rollouts": { GET: rolloutOperations.listRollouts, POST: rolloutOperations.scheduleRollout },
  "/api/admin/releases/rollouts/[rolloutId]": {
    GET: rolloutOperations.getRollout,
    PATCH: rolloutOperations.changeRollout,
  },
  "/api/admin/releases/verifications": { POST: releaseOperations.verifyRelease },
  "/api/admin/uploads": { OPTIONS: uploadOperations.describeUploads, POST: uploadOperations.createUpload },
  "/api/admin/uploads/[uploadId]": {
    GET: uploadOperations.readUpload,
    PATCH: uploadOperations.appendToUpload,
    DELETE: uploadOperations.removeUpload,
  },
  "/api/admin/webhooks": { GET: webhookOperations.listWebhookEndpoints, POST: webhookOperations.createWebhookEndpoint },
  "/api/admin/webhooks/[endpointId]": {
    GET: webhookOperations.getWebhookEndpoint,
    PATCH: webhookOperations.changeWebhookEndpoint,
    DELETE: webhookOperations.deleteWebhookEndpoint,
  },
  "/api/admin/webhooks/[endpointId]/deliveries": { GET: webhookOperations.listWebhookDeliveries },
  "/api/admin/webhooks/[endpointId]/deliveries/[eventId]": { GET: webhookOperations.getWebhookDelivery },
  "/api/admin/webhooks/[endpointId]/deliveries/[eventId]/retry": { POST: webhookOperations.retryWebhookDelivery },
  "/api/admin/webhooks/[endpointId]/replay": { POST: webhookOperations.replayWebhookDeliveries },
  "/api/admin/webhooks/[endpointId]/secret": { POST: webhookOperations.rotateWebhookSecret },
  "/api/admin/webhooks/[endpointId]/test": { POST: webhookOperations.sendWebhookTestEvent },
  "/api/auth/[...nextauth]": { GET: nextAuthOperations.readNextAuth, POST: nextAuthOperations.postNextAuth },
  "/api/auth/account/delete": { POST: ownAccountOperations.deleteAccount },
  "/api/auth/account/export": { GET: ownAccountOperations.exportAccount, HEAD: ownAccountOperations.headExportAccount },
  "/api/auth/email/change": { POST: emailChangeOperations.requestEmailChange },
  "/api/auth/email/change/confirm": { POST: emailChangeOperations.confirmEmailChange },
  "/api/auth/email/change/pending": {
    GET: emailChangeOperations.getEmailChange,
    DELETE: emailChangeOperations.cancelEmailChange,
  },
  "/api/auth/email/change/undo": { POST: emailChangeOperations.undoEmailChange },
  "/api/auth/factors": { GET: factorOperations.listFactors },
  "/api/auth/factors/recovery-codes": { POST: factorOperations.renewRecoveryCodes },
  "/api/auth/factors/totp": { POST: factorOperations.startTotp, DELETE: factorOperations.removeTotp },
  "/api/auth/factors/totp/confirm": { POST: factorOperations.confirmTotp },
  "/api/auth/identities": { GET: ownAccountOperations.listIdentities },
  "/api/auth/identities/[identityId]": { DELETE: ownAccountOperations.unlinkIdentity },
  "/api/auth/login": { POST: ownAccountOperations.logIn },
  "/api/auth/login/factor": { POST: ownAccountOperations.completeLogIn },
  "/api/auth/oauth/authorize": { GET: oauthOperations.authorize },
  "/api/auth/oauth/device": { POST: oauthOperations.startDeviceAuthorization },
  "/api/auth/oauth/revoke": { POST: oauthOperations.revokeToken },
  "/api/auth/oauth/token": { POST: oauthOperations.exchangeCode },
  "/api/auth/passkeys": { GET: passkeyOperations.listPasskeys, POST: passkeyOperations.addPasskey },
  "/api/auth/passkeys/[passkeyId]": { PATCH: passkeyOperations.renamePasskey, DELETE: passkeyOperations.removePasskey },
  "/api/auth/passkeys/options": { POST: passkeyOperations.createPasskeyOptions },
  "/api/auth/passkeys/second-factor/options": { POST: passkeyOperations.createPasskeySecondFactorOptions },
  "/api/auth/passkeys/sign-in": { POST: passkeyOperations.signInWithPasskey },
  "/api/auth/passkeys/sign-in/options": { POST: passkeyOperations.createPasskeySignInOptions },
  "/api/auth/passkeys/step-up/options": { POST: passkeyOperations.createPasskeyStepUpOptions },
  "/api/auth/password/change": { POST: ownAccountOperations.changePassword },
  "/api/auth/reauthenticate": { POST: ownAccountOperations.reauthenticate },
  "/api/auth/register": { POST: ownAccountOperations.register },
  "/api/auth/reset/confirm": { POST: ownAccountOperations.confirmPasswordReset },
  "/api/auth/reset/request": { POST: ownAccountOperations.requestPasswordReset },
  "/api/auth/signup": { POST: ownAccountOperations.signUp },
  "/api/auth/verification/resend": { POST: ownAccountOperations.resendVerification },
  "/api/download/[platform]": { GET: downloadOperations.download },
  "/api/health": { GET: healthOperations.checkHealth },
  "/api/push/devices": { GET: deviceOperations.listDevices },
  "/api/push/devices/[deviceId]": { DELETE: deviceOperations.removeDevice },
  "/api/push/devices/[deviceId]/live-activities": { GET: liveActivityOperations.listLiveActivities },
  "/api/push/devices/[deviceId]/live-activities/[activityId]": {
    PUT: liveActivityOperations.registerLiveActivity,
    DELETE: liveActivityOperations.removeLiveActivity,
  },
  "/api/push/devices/[deviceId]/live-activity-start-tokens/[attributesType]": {
    PUT: liveActivityOperations.registerLiveActivityStartToken,
    DELETE: liveActivityOperations.removeLiveActivityStartToken,
  },
  "/api/push/preferences": { GET: deviceOperations.showPushPreferences, PUT: deviceOperations.replacePushPreferences },
  "/api/push/register": { POST: deviceOperations.registerDevice },
  "/api/push/vapid-public-key": { GET: deviceOperations.getVapidPublicKey },
  "/api/subscription/billing-provider-webhook": { POST: subscriptionOperations.receiveBillingEvent },
  "/api/subscription/checkout": retiredEndpoint("Checkout", "/api/subscription/status"),
  "/api/subscription/purchases": { GET: subscriptionOperations.listPurchases },
  "/api/subscription/status": { GET: subscriptionOperations.getSubscriptionStatus },
  "/api/subscription/token": { GET: subscriptionOperations.getEntitlementToken },
  "/api/subscription/webhook": retiredEndpoint("SubscriptionWebhook", "/api/subscription/billing-provider-webhook"),
  "/api/updates/[product]/[channel]/[...file]": { GET: updateOperations.getUpdate },
  "/api/updates/[product]/report": { POST: updateOperations.reportUpdate },
  "/api/version": { GET: downloadOperations.getVersion },
};

/** Where a POST is taken for the method in X-HTTP-Method-Override. */
const RESUMABLE_UPLOAD = "/api/admin/uploads/[uploadId]";

/** The routes of the API, in the order of their paths. */
export const apiRoutes = Object.entries(OPERATIONS).map(
  ([path, operations]) =>
    [path, defineRoute(path, operations, { takesMethodOverride: path === RESUMABLE_UPLOAD })] as const,
);
