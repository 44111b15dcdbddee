import { describe, expect, test } from "vitest";
import { hasChromium } from "@/tests/support/web/chromium";
import { dataDirWithReleases, layoutFaults, newVisitor, PAGES, serviceInChromium } from "@/tests/support/web/pages";

const SCRIPT = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">";
const HOSTILE_NOTES = [
  SCRIPT,
  "# Heading",
  "- **bold**",
  "[bad](javascript:alert(1)) [good](https://example.com/notes)",
  "![tracker](https://evil.example/pixel.png)",
  "<a href='https://evil.example'>html</a>",
  "&lt;b&gt;",
].join("\n\n");

describe.runIf(hasChromium)("in Chromium", () => {
  const web = serviceInChromium(async () => {
    const DATA_DIR = await dataDirWithReleases((release) => {
      if (release.product === "ops") release.notes = HOSTILE_NOTES;
    });
    return { DATA_DIR };
  });

  // ASVS 3.6.1, 14.2.3
  test("every page is accessible in light and dark mode, fits a narrow screen, logs no errors and makes no requests to other hosts", async () => {
    const { page, faults } = await web.visit();
    await newVisitor(page, "W".repeat(80)); // the longest name
    // A recent sign-in leads from /confirm to the account. The tests of passkeys check that page.
    for (const path of PAGES.filter((given) => given !== "/confirm")) {
      await page.goto(path);
      expect([await layoutFaults(page, [1280, 320]), faults]).toEqual([[], []]);
    }
  });

  test("an account can be created and deleted with the keyboard alone", async () => {
    const { page } = await web.visit();
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const tabTo = async (name: string) => {
      await expect
        .poll(async () => {
          await press("Tab");
          return page.evaluate(() => {
            const focused = document.activeElement as HTMLElement;
            if (getComputedStyle(focused).outlineStyle === "none") return "an element without a visible focus";
            return (focused as HTMLInputElement).labels?.[0]?.textContent ?? focused.textContent;
          });
        })
        .toBe(name);
    };
    await page.goto("/register");
    await press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to content");
    await press("Enter", "Tab");
    await page.keyboard.type("Ann");
    await tabTo("Email");
    await page.keyboard.type(`keys-${crypto.randomUUID()}@example.com`);
    await tabTo("Password");
    await page.keyboard.type("a password for pages");
    await press("Enter");
    await page.waitForURL("/account");
    await tabTo("Delete account");
    await press("Enter");
    await page.waitForURL("/account/delete");
    await tabTo("Password");
    await page.keyboard.type("a password for pages");
    await tabTo("Type DELETE to confirm");
    await page.keyboard.type("DELETE");
    await tabTo("Delete account");
    await press("Enter");
    await page.waitForURL("/deleted");
  });

  // ASVS 1.2.2, 1.3.1, 1.3.5
  test("the download page renders release notes without their HTML, scripts, images and unsafe links, and lists older versions and prereleases", async () => {
    const { page, faults } = await web.visit();
    await page.goto("/download");
    expect(await page.getByText("These are sample files").count()).toBe(1);
    const notes = page.getByRole("region", { name: "ops for Windows, x64" });
    expect(await page.title()).toBe("Download – Homeport");
    expect(await notes.innerText()).toContain("<script>");
    expect(await notes.locator("script, img, b").count()).toBe(0);
    expect(await notes.getByRole("link", { name: "good" }).getAttribute("rel")).toContain("noopener");
    expect(await notes.getByRole("link", { name: /bad|html/ }).count()).toBe(0);
    expect(await notes.locator("strong").allInnerTexts()).toContain("bold");
    const product = page.getByRole("region", { name: "core for macOS, universal" });
    await product.getByText("Other versions").click();
    expect(await product.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringMatching(/^1\.2\.0-beta\.1 beta/),
      expect.stringMatching(/^1\.0\.0/),
    ]);
    expect(faults).toEqual([]);
  });

  // ASVS 1.1.2, 1.2.1, 1.2.3, 3.2.2
  test("scripts in names, device names and query parameters are shown as text", async () => {
    const { page, faults } = await web.visit();
    const name = SCRIPT.slice(0, 80);
    await newVisitor(page, name);
    const device = { name: SCRIPT.slice(0, 64) };
    await page.request.post("/api/push/register", {
      data: { token: "ab".repeat(32), device },
      headers: { "sec-fetch-site": "same-origin" },
    });
    await page.goto("/account");
    expect(await page.getByRole("region", { name: "Profile" }).innerText()).toContain(name);
    expect(await page.getByRole("region", { name: "Devices" }).innerText()).toContain(device.name);
    const parameters = ["error", "done", "again", "callbackUrl"].map((parameter) => [parameter, SCRIPT]);
    await page.goto(`/sign-in?${new URLSearchParams(parameters)}`);
    expect(await page.getByRole("main").locator("script, img").count()).toBe(0);
    expect(await page.getByRole("main").innerText()).not.toContain("taken");
    expect(await page.title()).toBe("Sign in – Homeport");
    expect(faults).toEqual([]);
  });

  // ASVS 6.2.6, 6.2.7
  test("password fields are masked, allow pasting and support password managers", async () => {
    const { page } = await web.visit();
    const expected: [path: string, autocomplete: string][] = [
      ["/sign-in", "current-password"],
      ["/register", "new-password"],
      ["/reset", "new-password"],
      ["/invitation", "new-password"],
      ["/account/delete", "current-password"],
      ["/account/password", "new-password"],
      ["/account/email", "current-password"],
      ["/verify", "current-password"],
    ];
    const seen = new Map<string, string | null>();
    const see = async (path: string) => {
      const response = await page.request.get(path); // many times faster than loading the page
      const { pathname } = new URL(response.url()); // many pages lead to one that signs in
      if (seen.has(pathname) || !/<input[^>]*assword/.test(await response.text())) return;
      await page.goto(path);
      for (const field of await page.locator("input[type=password], input[name*=assword]").all()) {
        const isPasted = await field.evaluate((input) =>
          input.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true })),
        );
        expect([path, await field.getAttribute("type"), isPasted]).toEqual([path, "password", true]);
        seen.set(pathname, await field.getAttribute("autocomplete"));
      }
    };
    for (const path of PAGES) await see(path);
    await newVisitor(page);
    for (const path of PAGES) await see(path);
    expect(seen).toEqual(new Map(expected));
  });

  // ASVS 7.4.4
  test("every page that requires a session has a sign-out button", async () => {
    const { page } = await web.visit();
    for (const path of ["/account", "/account/delete"]) {
      await newVisitor(page);
      await page.goto(path);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL("/sign-in?done=signed_out");
    }
  });
});
