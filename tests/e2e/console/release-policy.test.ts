import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { newFirstOperator } from "@/tests/support/console/first-operator";
import { createKeyOf } from "@/tests/support/process/api-key";
import { runCommand } from "@/tests/support/process/command";
import { newDataDir } from "@/tests/support/process/service";
import { hasChromium } from "@/tests/support/web/chromium";
import { layoutFaults, serviceInChromium } from "@/tests/support/web/pages";

const TARGET = "platform=windows&product=app&architecture=x64";

describe.runIf(hasChromium)("in Chromium", () => {
  const web = serviceInChromium();

  test("an admin sets a policy, and approves what the command published under it", async () => {
    const { storageState } = await newFirstOperator(web.browser, web.service);
    const { page, faults } = await web.visit({ storageState });
    const env = { HOMEPORT_URL: web.service.url, HOMEPORT_API_KEY: await createKeyOf(web.service, "releases:write") };
    const folder = await newDataDir();
    const add = async (version: string) => {
      const file = path.join(folder, `app-${version}.exe`);
      await writeFile(file, randomBytes(1000));
      const target = ["--product", "app", "--platform", "windows", "--arch", "x64", "--version", version, "--new"];
      return runCommand("homeport", ["release", "add", file, ...target], env);
    };
    const offered = async () => ((await (await web.service.fetch(`/api/version?${TARGET}`)).json()) as Offer).version;
    expect((await add("1.0.0")).code).toBe(0);

    await page.goto("/console/releases?product=app");
    await page.getByRole("link", { name: "Policy" }).click();
    await page.getByLabel("Approvals").fill("1");
    expect(await layoutFaults(page)).toEqual([]);
    const plain = await web.visit({ storageState, javaScriptEnabled: false });
    await plain.page.goto("/console/releases/policy?product=app");
    for (const one of [page, plain.page]) {
      await one.locator("input[name=signature]").check();
      await one.getByRole("button", { name: "Set the policy" }).click();
      await one.getByRole("alert").filter({ hasText: "no public key" }).waitFor(); // of a field that the form does not have
    }
    await page.locator("input[name=signature]").uncheck();
    await page.getByRole("button", { name: "Set the policy" }).click();
    await page.getByText("The policy applies.").waitFor();

    const added = await add("2.0.0");
    expect([added.code, added.output]).toEqual([0, expect.stringContaining("until another admin approves it")]);
    expect(await offered()).toBe("1.0.0");
    await page.goto("/console/releases/app/stable/2.0.0");
    await page.getByText("Waits for approval").waitFor();
    expect(await layoutFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: "Approve the version" }).click();
    await page.getByText("The version is approved, and offered.").waitFor();
    expect(await offered()).toBe("2.0.0");
    const policy = await runCommand("homeport", ["release", "policy", "app"], env);
    expect(policy.stdout).toBe("app requires 1 approval.\n");
    expect(faults).toEqual([]);
  });
});

type Offer = { version: string };
