import { operation } from "../operation";
import { RouteResponse } from "../platform/http-message";
import { listDevices, removeDevice } from "./devices/devices";
import {
  listLiveActivities,
  registerLiveActivity,
  registerStartToken,
  removeLiveActivity,
  removeStartToken,
} from "./devices/live-activities";
import { registerBrowser } from "./devices/register-browser";
import { registerDevice } from "./devices/register-device";
import { NewPreferences, Preferences, readPreferences, replacePreferences } from "./preferences";
import {
  DeviceParams,
  Devices,
  LiveActivities,
  LiveActivity,
  LiveActivityParams,
  PendingDevice,
  RegisteredDevice,
  RegisterLiveActivity,
  RegisterPush,
  RegisterStartToken,
  StartToken,
  StartTokenParams,
  VapidPublicKey,
} from "./schema";

const TOKEN = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad";
const DEVICE = {
  id: "0198d2f5-71aa-7e02-b3c4-6a7d8e9f0a1b",
  status: "pending",
  environment: "production",
  bundleId: "com.example.homeport",
  name: "Ann's iPhone",
  model: "iPhone18,1",
  osVersion: "26.1",
  appVersion: "2.3.0",
  locale: "en-GB",
  tokenSuffix: TOKEN.slice(-4),
  createdAt: "2026-11-20T09:00:00.000Z",
  verifiedAt: null,
  lastSeenAt: "2026-11-20T09:00:00.000Z",
  lastDeliveredAt: null,
  invalidReason: null,
  pendingReason: null,
  current: true,
};
const ACTIVE = { ...DEVICE, status: "active", verifiedAt: "2026-11-20T09:00:05.000Z" };
const CHALLENGE = {
  id: "0198d2f5-71b3-7a40-9e6d-0c1b2a394857",
  value: "mJ8p0wT3sK5vYxQ2rN6bLdF9gHcZ1aUeXoI7tRyWuPs",
  expiresAt: "2026-11-20T09:15:00.000Z",
};
const REGISTRATION = {
  token: TOKEN,
  installationId: "2f1c9e0a-5b7d-4c3e-8a6f-1d2e3f4a5b6c",
  device: { name: "Ann's iPhone", model: "iPhone18,1", osVersion: "26.1", appVersion: "2.3.0", locale: "en-GB" },
};
export const PREFERENCES = {
  kinds: {
    "billing.payment_failed": true,
    "billing.expired": true,
    "billing.renewed": false,
    "billing.trial_ending": true,
    "app.new_version": true,
    custom: true,
  },
  quietHours: { startsAt: "22:00", endsAt: "07:00" },
};
const SUBSCRIPTION = {
  platform: "web",
  subscription: {
    endpoint: "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABpDyQX",
    keys: {
      p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      auth: "BTBZMqHH6r4Tts7J_aSIgg",
    },
  },
  device: { name: "Firefox on Linux", locale: "de" },
};
const BROWSER = {
  ...ACTIVE,
  environment: "web",
  bundleId: "web",
  name: "Firefox on Linux",
  model: null,
  osVersion: null,
  appVersion: null,
  locale: "de",
  tokenSuffix: "DyQX",
};
const LIVE_ACTIVITY_TOKEN = `80${TOKEN}${TOKEN}`;
const START_TOKEN = {
  attributesType: "DeliveryAttributes",
  tokenSuffix: TOKEN.slice(-4),
  registeredAt: "2026-11-20T09:00:00.000Z",
};
const LIVE_ACTIVITY = { activityId: "order-4711", ...START_TOKEN };

export const deviceOperations = {
  listDevices: operation({
    id: "listDevices",
    summary: "List the caller's devices",
    description: "Lists devices, newest first. `current` marks the device that the current session registered.",
    session: true,
    response: { schema: Devices, examples: { "One device": { devices: [ACTIVE] }, "No devices": { devices: [] } } },
    run: async ({ ctx, principal }) => ({ devices: await listDevices(ctx, principal) }),
  }),

  removeDevice: operation({
    id: "removeDevice",
    summary: "Remove a device",
    description: "Removes a device of the caller. The device of another account returns 404, as an unknown one does.",
    session: true,
    params: DeviceParams,
    errors: ["device_not_found"],
    response: { description: "The device was removed and receives no more notifications.", schema: null },
    run: ({ ctx, principal, params }) => removeDevice(ctx, principal.account.id, params.deviceId),
  }),

  showPushPreferences: operation({
    id: "showPushPreferences",
    summary: "Show what the caller wants to be notified of",
    description: "Shows the preferences of the account. An account that has chosen nothing is notified of everything.",
    session: true,
    response: { schema: Preferences, examples: { "With quiet hours": PREFERENCES } },
    run: ({ ctx, principal }) => readPreferences(ctx.db, principal.account.id),
  }),

  replacePushPreferences: operation({
    id: "replacePushPreferences",
    summary: "Choose what the caller wants to be notified of",
    description:
      "Replaces the preferences of the account: a kind that is left out is on, and without `quietHours` there are none. Queued notifications of kinds that are turned off are canceled. During the quiet hours, by the time zone that each device has registered, notifications wait until their end, and those that expire meanwhile are dropped. Challenges and notifications about security are sent at any time, and so is everything to a device that has registered no time zone.",
    session: true,
    body: NewPreferences,
    examples: {
      "Turn off renewals, and keep the night quiet": {
        kinds: { "billing.renewed": false },
        quietHours: { startsAt: "22:00", endsAt: "07:00" },
      },
    },
    response: { schema: Preferences, examples: { "With quiet hours": PREFERENCES } },
    run: ({ ctx, principal, body }) => replacePreferences(ctx, principal.account.id, body),
  }),

  registerDevice: operation({
    id: "registerDevice",
    summary: "Register an iOS device or a browser for push",
    description:
      'Call this operation at every launch. A new device, or one with a changed token or account, gets a challenge. Its nonce is sent only through APNs; return it here with App Attest evidence over the challenge and the nonce. A pending device receives no notifications. An active device whose installation registers another token keeps its verified token until the new one is verified. A token belongs to the account that verified it last. A browser registers its `PushSubscription` with `platform: "web"`, and is active at once.',
    session: true,
    body: RegisterPush,
    maxBodyBytes: 32 * 1024,
    errors: [
      "challenge_expired",
      "challenge_used",
      "device_limit_reached",
      "evidence_invalid",
      "push_not_configured",
      "rate_limited",
    ],
    examples: {
      "At launch": REGISTRATION,
      "A browser": SUBSCRIPTION,
      "With evidence": {
        ...REGISTRATION,
        evidence: {
          type: "app_attest",
          challengeId: CHALLENGE.id,
          pushNonce: "Vb3nK8qRz5tYw1xLc7sDf0gHj2mP4aEuIoQ6rTyUiZk",
          keyId: "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
          assertion: "omlzaWduYXR1cmVYRzBFAiEA",
        },
      },
    },
    response: {
      description: "The device is active and receives the account's notifications.",
      schema: RegisteredDevice,
      examples: { Active: { device: ACTIVE }, "A browser": { device: BROWSER } },
    },
    otherResponses: {
      202: {
        description: "The device is pending. The nonce was sent through APNs.",
        schema: PendingDevice,
        examples: {
          Challenged: { device: DEVICE, challenge: CHALLENGE },
          "After APNs rejected a challenge": {
            device: { ...DEVICE, pendingReason: "BadDeviceToken" },
            challenge: CHALLENGE,
          },
        },
      },
    },
    run: async ({ ctx, principal, body, caller }) => {
      if (body.platform === "web") return { device: await registerBrowser(ctx, principal, body, caller) };
      const registered = await registerDevice(ctx, principal, body, caller);
      return new RouteResponse(registered.challenge ? 202 : 200, registered);
    },
  }),

  getVapidPublicKey: operation({
    id: "getVapidPublicKey",
    summary: "Get the key with which a browser subscribes",
    description:
      "Returns the public key of RFC 8292. Pass it to `PushManager.subscribe` as `applicationServerKey`. It changes only if the operator changes it: then unsubscribe and subscribe again.",
    response: {
      schema: VapidPublicKey,
      examples: {
        Key: { publicKey: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM" },
      },
    },
    run: async ({ ctx }) => ({ publicKey: await ctx.webPush.publicKey() }),
  }),
};

export const liveActivityOperations = {
  listLiveActivities: operation({
    id: "listLiveActivities",
    summary: "List the Live Activities of a device",
    description:
      "Lists what the app has registered for a device of the caller, newest first. Tokens are not shown in full.",
    session: true,
    params: DeviceParams,
    errors: ["device_not_found"],
    response: {
      schema: LiveActivities,
      examples: { "A delivery": { liveActivities: [LIVE_ACTIVITY], startTokens: [START_TOKEN] } },
    },
    run: ({ ctx, principal, params }) => listLiveActivities(ctx, principal.account.id, params.deviceId),
  }),

  registerLiveActivity: operation({
    id: "registerLiveActivity",
    summary: "Register the token that updates a Live Activity",
    description:
      "Call this operation for each token of ActivityKit's `pushTokenUpdates`: a token may change while the activity runs. The device has to be active. A device has the 20 that were registered last.",
    session: true,
    params: LiveActivityParams,
    body: RegisterLiveActivity,
    errors: ["not_found", "device_not_found", "device_not_active"],
    examples: { "A delivery": { attributesType: "DeliveryAttributes", token: LIVE_ACTIVITY_TOKEN } },
    response: { schema: LiveActivity, examples: { "A delivery": LIVE_ACTIVITY } },
    run: ({ ctx, principal, params, body }) => registerLiveActivity(ctx, principal.account.id, params, body),
  }),

  removeLiveActivity: operation({
    id: "removeLiveActivity",
    summary: "Remove a Live Activity that has ended",
    description:
      "Removes the token of an activity that has ended or was dismissed. The service removes it, too, once it has sent the end, or APNs has reported the token as invalid. Repeating the request changes nothing.",
    session: true,
    params: LiveActivityParams,
    errors: ["not_found", "device_not_found"],
    response: { schema: null },
    run: ({ ctx, principal, params }) => removeLiveActivity(ctx, principal.account.id, params),
  }),

  registerLiveActivityStartToken: operation({
    id: "registerLiveActivityStartToken",
    summary: "Register the token that starts Live Activities of a type",
    description:
      "Call this operation for each token of ActivityKit's `pushToStartTokenUpdates` (iOS 17.2), which has one for each type of attributes. The device has to be active. A device has the 20 that were registered last.",
    session: true,
    params: StartTokenParams,
    body: RegisterStartToken,
    errors: ["not_found", "device_not_found", "device_not_active"],
    examples: { "A type": { token: LIVE_ACTIVITY_TOKEN } },
    response: { schema: StartToken, examples: { "A type": START_TOKEN } },
    run: ({ ctx, principal, params, body }) => registerStartToken(ctx, principal.account.id, params, body),
  }),

  removeLiveActivityStartToken: operation({
    id: "removeLiveActivityStartToken",
    summary: "Remove the token that starts Live Activities of a type",
    description:
      "Removes the token, so that no more Live Activities of the type can be started on the device. Repeating the request changes nothing.",
    session: true,
    params: StartTokenParams,
    errors: ["not_found", "device_not_found"],
    response: { schema: null },
    run: ({ ctx, principal, params }) => removeStartToken(ctx, principal.account.id, params),
  }),
};
