import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// The built files are embedded into the program from internal/dashboard/dist. While developing, `npm run dev` serves the
// sources and hands the API's paths on to a server that runs beside it.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: '../internal/dashboard/dist',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0, // a data: address would need an exception in the Content-Security-Policy
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: {
    proxy: {
      '/api': 'http://127.0.0.1:8080',
      '/openapi.json': 'http://127.0.0.1:8080',
      '/health': 'http://127.0.0.1:8080',
    },
  },
});
