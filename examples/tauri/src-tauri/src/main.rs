#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use keyring::{Entry, Error};
use tauri::Manager;

/// The session's token in the system's keychain.
fn session() -> Result<Entry, String> {
    Entry::new("com.example.acme", "session").map_err(|error| error.to_string())
}

#[tauri::command]
fn load_session() -> Result<Option<String>, String> {
    match session()?.get_password() {
        Ok(token) => Ok(Some(token)),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[tauri::command]
fn save_session(token: Option<String>) -> Result<(), String> {
    let saved = match token {
        Some(token) => session()?.set_password(&token),
        None => session()?.delete_credential(),
    };
    match saved {
        Err(Error::NoEntry) => Ok(()),
        other => other.map_err(|error| error.to_string()),
    }
}

fn main() {
    tauri::Builder::default()
        // First: on Windows and Linux, a link starts the app again, and this passes it to the one that waits.
        .plugin(tauri_plugin_single_instance::init(|app, _args, _folder| {
            if let Some(window) = app.get_webview_window("main") {
                let _ = window.set_focus();
            }
        }))
        .plugin(tauri_plugin_deep_link::init())
        .plugin(tauri_plugin_http::init())
        .plugin(tauri_plugin_opener::init())
        .plugin(tauri_plugin_process::init())
        .plugin(tauri_plugin_updater::Builder::new().build())
        .invoke_handler(tauri::generate_handler![load_session, save_session])
        .run(tauri::generate_context!())
        .expect("the app did not start");
}
