/** An announcement that workers are queueing. */
export const ANNOUNCEMENT = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  kind: "app.new_version",
  status: "queueing",
  to: { accountId: null, deviceId: null, bundleId: null, audience: null },
  title: "2.1.0",
  createdAt: "2026-11-20T09:00:00.000Z",
  sendAt: "2026-11-20T09:00:00.000Z",
  expiresAt: "2026-11-27T09:05:00.000Z",
  canceledAt: null,
  devices: 1000000,
  waiting: 55000,
  sent: 243800,
  failed: 1200,
  cancelled: 0,
};

/** The same, with all that is known of it. */
export const ANNOUNCEMENT_DETAILS = {
  ...ANNOUNCEMENT,
  body: null,
  link: "updates",
  perSecond: 1000,
  queueingEndsAt: "2026-11-20T09:16:40.000Z",
  outcomes: [
    { state: "queued", reason: null, count: 55000 },
    { state: "sent", reason: null, count: 243800 },
    { state: "failed", reason: "Unregistered", count: 1200 },
  ],
};

/** The warning about the version of an announcement. */
export const NOT_PUBLISHED = {
  code: "version_not_published",
  detail:
    "2.1.0 is not published: no release that is offered now has this version. Announcing it notifies about 1,000,000 devices. Apps that update from Homeport would find no update.",
};
