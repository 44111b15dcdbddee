import type { CDPSession, Page } from "playwright-core";

/** Chromium's virtual authenticator: a device with discoverable credentials, which verifies its user by itself. */
export type VirtualAuthenticator = {
  /** Whether the user is verified and agrees at once. */
  respond: (isResponding: boolean) => Promise<void>;
};

/** Plugs a virtual authenticator into a page (Chrome DevTools Protocol, "WebAuthn"). */
export async function addVirtualAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const cdp: CDPSession = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    respond: async (enabled) =>
      void (await cdp.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled })),
  };
}
