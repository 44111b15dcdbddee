import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  brandStylesheet,
  brandStylesheetPath,
  contrast,
  darkAccent,
  lightAccent,
  productName,
  readLogo,
} from "@/lib/platform/brand";
import { loadConfig } from "@/lib/platform/config";
import { composeEmail } from "@/lib/platform/mail/compose-email";
import { call } from "@/tests/support/api";

const hexColor = fc.stringMatching(/^#[0-9a-f]{6}$/);
const PAGE_GROUNDS = { light: ["#f5f7f8", "#ffffff", "#f3f5f8"], dark: ["#0f1519", "#161f25"] };

function fileWith(bytes: string | Buffer): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "homeport-brand-")), "logo");
  writeFileSync(file, bytes);
  return file;
}

describe("the brand's color", () => {
  test("whatever it is, links and buttons in it are legible on light and dark pages (WCAG 2.2, 1.4.3)", () => {
    fc.assert(
      fc.property(hexColor, (color) => {
        const accents = [
          [lightAccent(color), PAGE_GROUNDS.light],
          [darkAccent(color), PAGE_GROUNDS.dark],
        ] as const;
        for (const [{ accent, onAccent }, grounds] of accents) {
          for (const ground of [...grounds, onAccent]) expect(contrast(accent, ground)).toBeGreaterThanOrEqual(4.5);
        }
      }),
    );
  });

  test("stays as it is if it is legible", () => {
    expect(lightAccent("#7a1fa2").accent).toBe("#7a1fa2");
    expect(darkAccent("#d59bf0").accent).toBe("#d59bf0");
  });

  test("changes the style sheet, and the URL under which browsers cache it", () => {
    const [one, other] = [loadConfig({ BRAND_COLOR: "#7A1FA2" }), loadConfig({ BRAND_COLOR: "#116633" })];
    expect(brandStylesheet(one)).toContain("--accent: #7a1fa2");
    expect(brandStylesheetPath(one)).not.toBe(brandStylesheetPath(other));
    expect(brandStylesheetPath(loadConfig({}))).toBeNull();
  });
});

test.each([
  [{ BRAND_COLOR: "purple" }, "BRAND_COLOR: must be a color in hexadecimal, such as #0a5a78"],
  [{ BRAND_COLOR: "#7a1fa" }, "BRAND_COLOR: must be a color in hexadecimal"],
  [{ BRAND_COLOR: "#7a1fa2;}body{display:none" }, "BRAND_COLOR: must be a color in hexadecimal"],
  [{ BRAND_COLOR_DARK: "#ffffff" }, "BRAND_COLOR: is required with BRAND_COLOR_DARK"],
  [{ BRAND_NAME: "Acme\r\nBcc: all@example.com" }, "BRAND_NAME: must be one line"],
  [{ BRAND_NAME: "A".repeat(61) }, "BRAND_NAME: must be at most 60 characters long"],
  [{ BRAND_PRODUCTS: "Acme Pro" }, "BRAND_PRODUCTS"],
  [{ BRAND_LOGO: "/nowhere/logo.svg" }, "BRAND_LOGO: must be the path of a file that can be read"],
  [{ BRAND_LOGO: fileWith("<html>") }, "BRAND_LOGO: must be an SVG, PNG or WebP image"],
  [{ BRAND_LOGO: fileWith(Buffer.alloc(300_000)) }, "BRAND_LOGO: must be a file of at most 256 KiB"],
  [{ BRAND_SUPPORT: "call us" }, "BRAND_SUPPORT: must be an email address or a URL"],
  [{ BRAND_PRIVACY_URL: "javascript:alert(1)" }, "BRAND_PRIVACY_URL: must be a URL"],
])("%j is refused at the start", (env, message) => {
  expect(() => loadConfig(env)).toThrow(message);
});

test("a product has the name of its ID, and a Google Play base plan that of its subscription", () => {
  const config = loadConfig({ BRAND_PRODUCTS: "core = Acme Studio, com.acme.pro=Acme Pro = best" });
  expect(productName(config, "core")).toBe("Acme Studio");
  expect(productName(config, "com.acme.pro:monthly")).toBe("Acme Pro = best");
  expect(productName(config, "constructor")).toBeNull();
});

test("a logo is read with its type, and is not found once its file is gone", async () => {
  const svg = fileWith('<svg xmlns="http://www.w3.org/2000/svg"/>');
  expect(await readLogo(loadConfig({ BRAND_LOGO: svg }).BRAND_LOGO)).toMatchObject({ type: "image/svg+xml" });
  await expect(readLogo("/nowhere")).rejects.toMatchObject({ code: "not_found" });
  expect((await call("GET", "/brand/logo")).status).toBe(404);
});

test("the style sheet is served with its type, and without a color it is empty", async () => {
  const response = await call("GET", "/brand/style.css");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/css; charset=utf-8");
  expect(await response.text()).toBe("");
});

test("emails show the brand's name and color, the support address and the imprint, escaped", () => {
  const config = loadConfig({
    BRAND_NAME: "Acme & Söhne",
    BRAND_COLOR: "#7a1fa2",
    BRAND_SUPPORT: "help@example.com",
    BRAND_IMPRINT_URL: "https://example.com/imprint",
  });
  const forgotUrl = "https://example.com/forgot";
  const { text, html } = composeEmail("registered_already", { to: "a@b.c", locale: "de", config }, { forgotUrl });
  expect(text).toContain("Ihr Konto bei Acme & Söhne");
  expect(text).toContain("Brauchen Sie Hilfe? help@example.com");
  expect(text).toContain("Impressum: https://example.com/imprint");
  expect(html).toContain("Acme &amp; Söhne");
  expect(html).toContain("background:#7a1fa2;color:#ffffff");
});

test("password managers find the page that changes the password", async () => {
  const response = await call("GET", "/.well-known/change-password");
  expect(response.status).toBe(302);
  expect(response.headers.get("location")).toBe("/account/password");
});
