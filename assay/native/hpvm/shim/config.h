// HPVM's build generates this header; its programs include it, but need nothing of it.
#pragma once
