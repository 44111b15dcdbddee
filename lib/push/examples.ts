const TOKEN = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad";
export const DEVICE = {
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
export const ACTIVE = { ...DEVICE, status: "active", verifiedAt: "2026-11-20T09:00:05.000Z" };
export const CHALLENGE = {
  id: "0198d2f5-71b3-7a40-9e6d-0c1b2a394857",
  value: "mJ8p0wT3sK5vYxQ2rN6bLdF9gHcZ1aUeXoI7tRyWuPs",
  expiresAt: "2026-11-20T09:15:00.000Z",
};
export const REGISTRATION = {
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
export const SUBSCRIPTION = {
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
export const BROWSER = {
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
export const LIVE_ACTIVITY_TOKEN = `80${TOKEN}${TOKEN}`;
export const START_TOKEN = {
  attributesType: "DeliveryAttributes",
  tokenSuffix: TOKEN.slice(-4),
  registeredAt: "2026-11-20T09:00:00.000Z",
};
export const LIVE_ACTIVITY = { activityId: "order-4711", ...START_TOKEN };
