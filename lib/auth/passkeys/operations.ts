import type { z } from "zod";
import { AppError } from "../../errors";
import { operation } from "../../operation";
import type { Config } from "../../platform/config";
import { RouteResponse } from "../../platform/http-message";
import { AppleAppSiteAssociation, DigitalAssetLinks } from "./schema";

const FINGERPRINT = Array.from({ length: 32 }, (_, index) => (index + 160).toString(16).toUpperCase()).join(":");

export const passkeyDomainOperations = {
  getAppleAppSiteAssociation: operation({
    id: "getAppleAppSiteAssociation",
    summary: "List the Apple apps that may use the passkeys",
    description:
      "The apps in `AUTH_PASSKEY_APPLE_APPS`, as Apple's systems read them before an app may use a passkey of this domain. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The apps.",
      schema: AppleAppSiteAssociation,
      examples: { "One app": { webcredentials: { apps: ["ABCDE12345.com.example.app"] } } },
    },
    run: ({ ctx }) =>
      new RouteResponse(200, appleAppSiteAssociation(ctx.config), { "Cache-Control": "public, max-age=3600" }),
  }),

  getDigitalAssetLinks: operation({
    id: "getDigitalAssetLinks",
    summary: "List the Android apps that may use the passkeys",
    description:
      "The apps in `AUTH_PASSKEY_ANDROID_APPS`, as Android reads them before an app may use a passkey of this domain. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The apps.",
      schema: DigitalAssetLinks,
      examples: {
        "One app": [
          {
            relation: ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"],
            target: {
              namespace: "android_app",
              package_name: "com.example.app",
              sha256_cert_fingerprints: [FINGERPRINT],
            },
          },
        ],
      },
    },
    run: ({ ctx }) =>
      new RouteResponse(200, digitalAssetLinks(ctx.config), { "Cache-Control": "public, max-age=3600" }),
  }),
};

/**
 * Apple's list of the apps that share passkeys with this domain ("Supporting associated domains").
 * @throws AppError not_found if none is configured
 */
function appleAppSiteAssociation({
  AUTH_PASSKEY_APPLE_APPS: apps,
}: Pick<Config, "AUTH_PASSKEY_APPLE_APPS">): z.infer<typeof AppleAppSiteAssociation> {
  if (apps.length === 0) throw new AppError("not_found");
  return { webcredentials: { apps: [...apps] } };
}

/**
 * Android's list of the apps that share passkeys with this domain (Google, "Digital Asset Links").
 * @throws AppError not_found if none is configured
 */
function digitalAssetLinks({
  AUTH_PASSKEY_ANDROID_APPS: apps,
}: Pick<Config, "AUTH_PASSKEY_ANDROID_APPS">): z.infer<typeof DigitalAssetLinks> {
  if (apps.length === 0) throw new AppError("not_found");
  return apps.map(({ packageName, fingerprint }) => ({
    relation: ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"],
    target: { namespace: "android_app", package_name: packageName, sha256_cert_fingerprints: [fingerprint] },
  }));
}
