import { operation } from "../operation";
import { RouteResponse } from "../platform/http-message";
import { listDevices, removeDevice } from "./devices";
import { ACTIVE, BROWSER, CHALLENGE, DEVICE, PREFERENCES, REGISTRATION, SUBSCRIPTION } from "./examples";
import { readPreferences, replacePreferences } from "./preferences/preferences";
import { NewPreferences, Preferences } from "./preferences/schema";
import { registerDevice } from "./registration/register-device";
import { DeviceParams, Devices, PendingDevice, RegisteredDevice, RegisterPush, VapidPublicKey } from "./schema";
import { registerBrowser } from "./web/register-browser";

export const deviceOperations = {
  listDevices: operation({
    id: "listDevices",
    summary: "List the caller's devices",
    description: "Lists devices, newest first. `current` marks the device that the current session registered.",
    session: true,
    response: {
      description: "The account's devices.",
      schema: Devices,
      examples: { "One device": { devices: [ACTIVE] }, "No devices": { devices: [] } },
    },
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
    run: async ({ ctx, principal, params }) => {
      await removeDevice(ctx, principal.account.id, params.deviceId);
      return new RouteResponse(204, null);
    },
  }),

  showPushPreferences: operation({
    id: "showPushPreferences",
    summary: "Show what the caller wants to be notified of",
    description: "Shows the preferences of the account. An account that has chosen nothing is notified of everything.",
    session: true,
    response: { description: "The preferences.", schema: Preferences, examples: { "With quiet hours": PREFERENCES } },
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
    response: { description: "The preferences.", schema: Preferences, examples: { "With quiet hours": PREFERENCES } },
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
      description: "The key.",
      schema: VapidPublicKey,
      examples: {
        Key: { publicKey: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM" },
      },
    },
    run: async ({ ctx }) => ({ publicKey: await ctx.webPush.publicKey() }),
  }),
};
