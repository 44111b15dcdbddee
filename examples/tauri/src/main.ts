import { currentUser, getSubscriptionStatus, isEntitledTo, signOut } from "@homeport/client";
import { relaunch } from "@tauri-apps/plugin-process";
import { check } from "@tauri-apps/plugin-updater";
import { homeport, signIn } from "./homeport";

const element = (id: string) => document.getElementById(id) as HTMLElement;

async function show(): Promise<void> {
  const user = await currentUser(homeport);
  element("user").textContent = user?.email ?? "Signed out";
  element("pro").hidden = !user || !isEntitledTo(await getSubscriptionStatus(homeport), "pro");
}

/** Does something, and shows what has become of it. Offline, and after a cancelled sign-in, it shows the error. */
async function run(action: () => Promise<void>): Promise<void> {
  try {
    await action();
    await show();
  } catch (error) {
    element("user").textContent = String(error);
  }
}

/** Installs an update that the service offers, and starts it. The id keeps the app's place in a staged rollout. */
async function update(): Promise<void> {
  const installationId = localStorage.getItem("installationId") ?? crypto.randomUUID();
  localStorage.setItem("installationId", installationId);
  const found = await check({ headers: { "X-User-Staging-Id": installationId } });
  if (!found) return;
  await found.downloadAndInstall();
  await relaunch();
}

element("sign-in").onclick = () => run(signIn);
element("sign-out").onclick = () => run(() => signOut(homeport));
run(update);
